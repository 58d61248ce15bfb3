SELECT seq, q, id, state, length(body) FROM waybill_outbox WHERE seq > ? AND state IN (2, 4) ORDER BY seq LIMIT ?
