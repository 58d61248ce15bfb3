-- Saves an intent that was not called yet, which none is that was committed. Changes nothing where there is one.
INSERT INTO waybill_operation
  (scope, k, fp, token, job, born, idempotency_key, request, timeout_ms, state, calls, intended_ms, called_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'intended', 0, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED), CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED))
ON DUPLICATE KEY UPDATE k = k
