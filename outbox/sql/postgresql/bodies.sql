SELECT seq, q, id, born, state, body FROM waybill_outbox WHERE seq = ANY (string_to_array($1, ' ')::bigint[]) ORDER BY seq
