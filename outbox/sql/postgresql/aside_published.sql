UPDATE waybill_outbox SET state = 5, ended_ms = NULL, reason = $1 WHERE seq = $2 AND state = 2
