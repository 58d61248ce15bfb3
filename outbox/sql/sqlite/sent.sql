UPDATE waybill_outbox SET state = 1 WHERE seq IN (SELECT value FROM json_each(?)) AND state = 0
