-- The words of rows that were set aside wait with them.
SELECT seq, id FROM waybill_outbox WHERE q = $1 AND id = ANY (string_to_array($2, ' ')::text[]) AND state <> 5 ORDER BY seq
FOR UPDATE SKIP LOCKED
