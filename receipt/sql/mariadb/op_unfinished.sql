SELECT k, fp, token, job, born, state, idempotency_key, request, answer, reason, calls, intended_ms, called_ms, timeout_ms, answered_ms, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)
FROM waybill_operation WHERE scope = ? AND state IN ('intended', 'pending', 'busy', 'answered', 'unknown') ORDER BY k LIMIT 1000
