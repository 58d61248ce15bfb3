SELECT count(*) FROM waybill_operation WHERE scope = ? AND born < ? AND state IN ('done', 'refused')
