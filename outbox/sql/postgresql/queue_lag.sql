UPDATE waybill_outbox_queue SET unread = $1, oldest_ms = $2, strangers = $3, read_ms = NOW_MS WHERE q = $4 AND epoch = $5
