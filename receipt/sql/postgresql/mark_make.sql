-- Where no mark was seen: one that was made after the snapshot conflicts here, and the transaction is run again.
INSERT INTO waybill_receipt_mark (scope, before_ms) VALUES ($1, 0)
ON CONFLICT (scope) DO UPDATE SET before_ms = waybill_receipt_mark.before_ms
RETURNING before_ms
