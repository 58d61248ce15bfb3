SELECT seq, id FROM waybill_outbox WHERE q = ? AND id IN (LIST) ORDER BY seq
FOR UPDATE SKIP LOCKED
