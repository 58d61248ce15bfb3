-- The answer that stood without its effect.
UPDATE waybill_operation SET state = $1, answer = $2, reason = $3, token = $4
WHERE scope = $5 AND key = $6 AND state = 'answered'
