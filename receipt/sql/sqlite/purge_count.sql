SELECT count(*) FROM waybill_receipt WHERE scope = ? AND born < ?
