UPDATE waybill_outbox_queue SET lost_ms = NOW_MS, lost_why = $1 WHERE q = $2 AND epoch = $3 AND lost_ms IS NULL
