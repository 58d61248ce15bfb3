-- Enters a receipt in the caller's transaction. Nothing comes back where there is one.
INSERT INTO waybill_receipt (scope, key, fp, token, job, born) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (scope, key) DO NOTHING
RETURNING token
