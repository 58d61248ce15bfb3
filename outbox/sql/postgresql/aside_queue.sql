UPDATE waybill_outbox SET state = 5, reason = $1 WHERE q = $2 AND state = 0
