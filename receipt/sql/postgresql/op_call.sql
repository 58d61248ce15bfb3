-- Before every call; whoever saw another number of calls, or another state, starts over. A call that was given a longer time
-- is waited for as long. MariaDB assigns from left to right: the timeout comes before what it is counted from.
UPDATE waybill_operation SET calls = calls + 1, timeout_ms = GREATEST($1::bigint, called_ms + timeout_ms - (extract(epoch FROM clock_timestamp()) * 1000)::bigint),
  called_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint, token = $2, state = CASE state WHEN 'busy' THEN 'intended' ELSE state END
WHERE scope = $3 AND key = $4 AND calls = $5 AND state = $6 AND state IN ('intended', 'pending', 'busy')
