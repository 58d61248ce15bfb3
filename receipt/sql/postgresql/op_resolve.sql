-- As a person says. What the other side has answered stands; what it has not done can't be known while a call may be under way.
UPDATE waybill_operation SET state = $1, answer = $2, reason = $3, token = $4, answered_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
WHERE scope = $5 AND key = $6 AND state NOT IN ('done', 'refused') AND (state <> 'answered' OR token = 'by hand')
  AND ($7::text = 'answered' OR state NOT IN ('intended', 'pending') OR called_ms + timeout_ms <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
