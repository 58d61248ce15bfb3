DELETE FROM waybill_operation WHERE scope = ? AND born < ? AND state IN ('done', 'refused') ORDER BY born LIMIT 1000
