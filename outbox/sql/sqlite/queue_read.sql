UPDATE waybill_outbox_queue SET read_ms = NOW_MS WHERE q IN (SELECT value FROM json_each(?)) AND lost_ms IS NULL
