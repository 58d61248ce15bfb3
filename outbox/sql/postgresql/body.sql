SELECT body FROM waybill_outbox WHERE q = $1 AND id = $2
