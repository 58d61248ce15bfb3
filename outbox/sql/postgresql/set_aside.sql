SELECT seq, q, id, at_ms, reason FROM waybill_outbox WHERE state = 5 AND seq > $1 ORDER BY seq LIMIT $2
