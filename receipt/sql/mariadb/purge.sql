DELETE FROM waybill_receipt WHERE scope = ? AND born < ? ORDER BY born LIMIT 1000
