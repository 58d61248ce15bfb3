UPDATE waybill_outbox SET state = 5, reason = $1 WHERE seq = $2 AND state IN (1, 3)
