UPDATE waybill_outbox_queue SET read_ms = NOW_MS WHERE q IN (LIST) AND lost_ms IS NULL
