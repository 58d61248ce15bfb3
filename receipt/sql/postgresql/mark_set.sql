INSERT INTO waybill_receipt_mark (scope, before_ms) VALUES ($1, $2)
ON CONFLICT (scope) DO UPDATE SET before_ms = greatest(waybill_receipt_mark.before_ms, excluded.before_ms)
