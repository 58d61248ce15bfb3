-- An array: of a joined list the planner may think that reading the whole table is quicker.
DELETE FROM waybill_outbox WHERE seq = ANY (ARRAY(
  SELECT seq FROM waybill_outbox WHERE state IN (2, 4) AND ended_ms < $1 ORDER BY ended_ms LIMIT 1000 FOR UPDATE SKIP LOCKED
))
