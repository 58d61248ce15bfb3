SELECT id, fp FROM waybill_outbox WHERE q = ? AND id IN (SELECT value FROM json_each(?))
