UPDATE waybill_outbox SET state = 1, ended_ms = NULL WHERE seq = ANY (string_to_array($1, ' ')::bigint[]) AND state IN (0, 1, 3)
