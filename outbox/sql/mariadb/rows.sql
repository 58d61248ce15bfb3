-- The words of rows that were set aside wait with them.
SELECT seq, id FROM waybill_outbox WHERE q = ? AND id IN (LIST) AND state <> 5 ORDER BY seq
FOR UPDATE SKIP LOCKED
