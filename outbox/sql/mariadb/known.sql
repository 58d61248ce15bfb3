SELECT id FROM waybill_outbox WHERE q = ? AND id IN (LIST)
