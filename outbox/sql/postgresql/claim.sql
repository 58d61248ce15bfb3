-- Rows of a queue that are to be sent; of those of one key the first one only. An empty key is none.
SELECT seq, octet_length(body), coalesce(okey, '') <> '' FROM waybill_outbox c
WHERE q = $1 AND state = 0
  AND (coalesce(okey, '') = '' OR NOT EXISTS (SELECT 1 FROM waybill_outbox e WHERE e.state = 0 AND e.q = c.q AND e.okey = c.okey AND e.seq < c.seq))
ORDER BY seq LIMIT $2
FOR UPDATE SKIP LOCKED
