-- Rows of a queue that are to be sent; of those of one key the first one only. An empty key is none. The indexes are named,
-- as for each row with a key all new rows might be read.
SELECT seq, octet_length(body), coalesce(okey, '') <> '' FROM waybill_outbox c FORCE INDEX (state)
WHERE q = ? AND state = 0
  AND (coalesce(okey, '') = '' OR NOT EXISTS (SELECT 1 FROM waybill_outbox e FORCE INDEX (okey) WHERE e.state = 0 AND e.q = c.q AND e.okey = c.okey AND e.seq < c.seq))
ORDER BY seq LIMIT ?
FOR UPDATE SKIP LOCKED
