-- The next scope, by the index.
SELECT min(scope) FROM (
  SELECT min(scope) AS scope FROM waybill_receipt WHERE scope > ?
  UNION ALL SELECT min(scope) FROM waybill_operation WHERE scope > ?
) next
