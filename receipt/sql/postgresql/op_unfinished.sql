SELECT key, fp, token, job, born, state, idempotency_key, request, answer, reason, calls, intended_ms, called_ms, timeout_ms, answered_ms, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM waybill_operation WHERE scope = $1 AND state IN ('intended', 'pending', 'busy', 'answered', 'unknown') ORDER BY key LIMIT 1000
