SELECT seq, q, id, at_ms, reason FROM waybill_outbox WHERE state = 5 AND seq > ? ORDER BY seq LIMIT ?
