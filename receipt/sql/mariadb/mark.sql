-- With a lock, so that an older snapshot does not answer.
SELECT before_ms FROM waybill_receipt_mark WHERE scope = ? LOCK IN SHARE MODE
