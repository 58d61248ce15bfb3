INSERT INTO waybill_receipt_mark (scope, before_ms) VALUES (?, ?)
ON DUPLICATE KEY UPDATE before_ms = GREATEST(before_ms, VALUES(before_ms))
