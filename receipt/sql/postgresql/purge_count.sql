SELECT count(*) FROM waybill_receipt WHERE scope = $1 AND born < $2
