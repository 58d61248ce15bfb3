UPDATE waybill_outbox SET state = 5, reason = ? WHERE seq = ? AND state IN (1, 3)
