-- Before every call; whoever saw another number of calls, or another state, starts over. A call that was given a longer time
-- is waited for as long. MariaDB assigns from left to right: the timeout comes before what it is counted from.
UPDATE waybill_operation SET calls = calls + 1, timeout_ms = GREATEST(?, called_ms + timeout_ms - TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000),
  called_ms = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000, token = ?, state = CASE state WHEN 'busy' THEN 'intended' ELSE state END
WHERE scope = ? AND k = ? AND calls = ? AND state = ? AND state IN ('intended', 'pending', 'busy')
