SELECT count(*) FROM waybill_operation WHERE scope = $1 AND born < $2 AND state IN ('done', 'refused')
