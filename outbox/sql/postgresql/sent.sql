UPDATE waybill_outbox SET state = 1 WHERE seq = ANY (string_to_array($1, ' ')::bigint[]) AND state = 0
