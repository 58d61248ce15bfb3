-- As a person says: nothing has happened, call again. That can't be known while a call may be under way.
UPDATE waybill_operation SET state = 'busy', reason = $1, token = $2, answer = NULL, answered_ms = NULL, intended_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
WHERE scope = $3 AND key = $4 AND state NOT IN ('done', 'refused') AND (state <> 'answered' OR token = 'by hand')
  AND (state NOT IN ('intended', 'pending') OR called_ms + timeout_ms <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
