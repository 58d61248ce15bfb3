-- As a person says: nothing has happened, call again.
UPDATE waybill_operation SET state = 'busy', reason = $1, intended_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
WHERE scope = $2 AND key = $3 AND state NOT IN ('done', 'refused')
