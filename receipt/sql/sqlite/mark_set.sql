INSERT INTO waybill_receipt_mark (scope, before_ms) VALUES (?, ?)
ON CONFLICT (scope) DO UPDATE SET before_ms = max(before_ms, excluded.before_ms)
