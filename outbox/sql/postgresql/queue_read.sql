UPDATE waybill_outbox_queue SET read_ms = NOW_MS WHERE q = ANY (string_to_array($1, ' ')::text[]) AND lost_ms IS NULL
