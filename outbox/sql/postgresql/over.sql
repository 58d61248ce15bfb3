SELECT id FROM waybill_outbox WHERE seq = ANY (string_to_array($1, ' ')::bigint[]) AND state IN (2, 4)
