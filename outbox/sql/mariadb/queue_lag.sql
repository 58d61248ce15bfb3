UPDATE waybill_outbox_queue SET unread = ?, oldest_ms = ?, strangers = ?, read_ms = NOW_MS WHERE q = ? AND epoch = ?
