-- Saves an intent that was not called yet, which none is that was committed. Changes nothing where there is one.
INSERT INTO waybill_operation
  (scope, key, fp, token, job, born, idempotency_key, request, timeout_ms, state, calls, intended_ms, called_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'intended', 0, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
ON CONFLICT (scope, key) DO NOTHING
