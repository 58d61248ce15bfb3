DELETE FROM waybill_operation o USING (
  SELECT scope, key FROM waybill_operation WHERE scope = $1 AND born < $2 AND state IN ('done', 'refused')
  ORDER BY born LIMIT 1000 FOR UPDATE SKIP LOCKED
) old WHERE o.scope = old.scope AND o.key = old.key
