SELECT k, fp, token, job, born, state, idempotency_key, request, answer, reason, calls, intended_ms, called_ms, timeout_ms, answered_ms, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000
FROM waybill_operation WHERE scope = ? AND k = ? FOR UPDATE
