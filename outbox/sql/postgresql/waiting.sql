-- The queues that have rows to be sent, by the index, one step a queue.
WITH RECURSIVE t AS (
  SELECT (SELECT min(q) FROM waybill_outbox WHERE state = 0) AS q
  UNION ALL
  SELECT (SELECT min(q) FROM waybill_outbox WHERE state = 0 AND q > t.q) FROM t WHERE t.q IS NOT NULL
)
SELECT q FROM t WHERE q IS NOT NULL
