-- Not where there is a receipt: the force would wait until that is purged, and then let a second effect through.
INSERT INTO waybill_receipt_force (scope, key)
SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM waybill_receipt WHERE scope = ? AND key = ?)
ON CONFLICT (scope, key) DO NOTHING
