-- No lock: whoever reads it holds the write lock.
SELECT before_ms FROM waybill_receipt_mark WHERE scope = ?
