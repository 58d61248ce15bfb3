-- Before every call; whoever saw another number of calls starts over.
UPDATE waybill_operation SET calls = calls + 1, called_ms = CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED),
  timeout_ms = ?, token = ?, state = CASE state WHEN 'busy' THEN 'intended' ELSE state END
WHERE scope = ? AND k = ? AND calls = ? AND state IN ('intended', 'pending', 'busy')
