UPDATE waybill_outbox_queue SET lost_ms = NOW_MS, lost_why = ? WHERE q = ? AND epoch = ? AND lost_ms IS NULL
