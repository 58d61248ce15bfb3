-- Enters a receipt, and sets the time limits of the transaction in the same round trip. Nothing comes back where there is one.
WITH limits AS MATERIALIZED (
  SELECT set_config('lock_timeout', $7, true), set_config('idle_in_transaction_session_timeout', $8, true)
)
INSERT INTO waybill_receipt (scope, key, fp, token, job, born)
SELECT $1, $2, $3, $4, $5, $6::bigint FROM limits
ON CONFLICT (scope, key) DO NOTHING
RETURNING token
