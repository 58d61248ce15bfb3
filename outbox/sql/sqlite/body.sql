SELECT body FROM waybill_outbox WHERE q = ? AND id = ?
