-- Not where there is a receipt: the force would wait until that is purged, and then let a second effect through.
INSERT INTO waybill_receipt_force (scope, k)
SELECT ?, ? FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM waybill_receipt r WHERE r.scope = ? AND r.k = ?)
ON DUPLICATE KEY UPDATE k = VALUES(k)
