UPDATE waybill_outbox SET state = 5, ended_ms = NULL, reason = ? WHERE seq = ? AND state = 2
