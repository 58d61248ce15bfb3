-- Enters a receipt, and takes the one write lock. Nothing comes back where there is one.
INSERT INTO waybill_receipt (scope, key, fp, token, job, born, at)
VALUES (?, ?, ?, ?, ?, ?, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
ON CONFLICT (scope, key) DO NOTHING
RETURNING token
