UPDATE waybill_outbox SET state = 1 WHERE seq IN (LIST) AND state = 0
