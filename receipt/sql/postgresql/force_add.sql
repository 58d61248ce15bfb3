INSERT INTO waybill_receipt_force (scope, key) VALUES ($1, $2) ON CONFLICT (scope, key) DO NOTHING
