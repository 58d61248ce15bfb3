-- The next scope, by the index.
SELECT min(scope) FROM (
  SELECT min(scope) AS scope FROM waybill_receipt WHERE scope > $1
  UNION ALL SELECT min(scope) FROM waybill_operation WHERE scope > $2
) next
