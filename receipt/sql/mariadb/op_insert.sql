-- Saves an intent that was not called yet, which none is that was committed. Changes nothing where there is one.
INSERT INTO waybill_operation
  (scope, k, fp, token, job, born, idempotency_key, request, timeout_ms, state, calls, intended_ms, called_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'intended', 0, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)
ON DUPLICATE KEY UPDATE k = k
