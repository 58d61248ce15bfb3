-- Before every call; whoever saw another number of calls, or another state, starts over. A call that was given a longer time
-- is waited for as long. MariaDB assigns from left to right: the timeout comes before what it is counted from.
UPDATE waybill_operation SET calls = calls + 1, timeout_ms = max(?, called_ms + timeout_ms - CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  called_ms = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), token = ?, state = CASE state WHEN 'busy' THEN 'intended' ELSE state END
WHERE scope = ? AND key = ? AND calls = ? AND state = ? AND state IN ('intended', 'pending', 'busy')
