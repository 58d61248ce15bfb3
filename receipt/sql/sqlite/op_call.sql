-- Before every call; whoever saw another number of calls starts over.
UPDATE waybill_operation SET calls = calls + 1, called_ms = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER),
  timeout_ms = ?, token = ?, state = CASE state WHEN 'busy' THEN 'intended' ELSE state END
WHERE scope = ? AND key = ? AND calls = ? AND state IN ('intended', 'pending', 'busy')
