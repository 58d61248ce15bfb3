INSERT INTO waybill_receipt_force (scope, key) VALUES (?, ?) ON CONFLICT (scope, key) DO NOTHING
