UPDATE waybill_outbox SET state = 5, reason = ? WHERE seq = ? AND state = 0
