-- Saves an intent that was not called yet, which none is that was committed. Changes nothing where there is one.
INSERT INTO waybill_operation
  (scope, key, fp, token, job, born, idempotency_key, request, timeout_ms, state, calls, intended_ms, called_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'intended', 0, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
ON CONFLICT (scope, key) DO NOTHING
