UPDATE waybill_outbox SET state = 1, ended_ms = NULL WHERE seq IN (SELECT value FROM json_each(?)) AND state IN (0, 1, 3)
