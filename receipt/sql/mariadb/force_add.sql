INSERT INTO waybill_receipt_force (scope, k) VALUES (?, ?) ON DUPLICATE KEY UPDATE k = k
