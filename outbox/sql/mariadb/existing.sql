-- A lock shows the present, also where the transaction has an older snapshot.
SELECT id, fp, entry FROM waybill_outbox WHERE q = ? AND id IN (LIST) LOCK IN SHARE MODE
