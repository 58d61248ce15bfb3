SELECT seq, q, id, state, octet_length(body) FROM waybill_outbox WHERE seq > ? AND state IN (1, 3) ORDER BY seq LIMIT ?
