SELECT key, fp, token, job, born, state, idempotency_key, request, answer, reason, calls, intended_ms, called_ms, timeout_ms, answered_ms, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
FROM waybill_operation WHERE scope = ? AND state IN ('intended', 'pending', 'busy', 'answered', 'unknown') ORDER BY key LIMIT 1000
