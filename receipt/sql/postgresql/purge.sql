DELETE FROM waybill_receipt r USING (
  SELECT scope, key FROM waybill_receipt WHERE scope = $1 AND born < $2 ORDER BY born LIMIT 1000 FOR UPDATE SKIP LOCKED
) old WHERE r.scope = old.scope AND r.key = old.key
