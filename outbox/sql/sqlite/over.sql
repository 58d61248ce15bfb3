SELECT id FROM waybill_outbox WHERE seq IN (SELECT value FROM json_each(?)) AND +state IN (2, 4)
