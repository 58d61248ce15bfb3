-- Before every call; whoever saw another number of calls starts over.
UPDATE waybill_operation SET calls = calls + 1, called_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
  timeout_ms = $1, token = $2, state = CASE state WHEN 'busy' THEN 'intended' ELSE state END
WHERE scope = $3 AND key = $4 AND calls = $5 AND state IN ('intended', 'pending', 'busy')
