SELECT id FROM waybill_outbox WHERE q = $1 AND id = ANY (string_to_array($2, ' ')::text[])
