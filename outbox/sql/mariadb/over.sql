SELECT id FROM waybill_outbox WHERE seq IN (LIST) AND state IN (2, 4)
