UPDATE waybill_outbox SET state = 5, reason = ? WHERE q = ? AND state = 0
