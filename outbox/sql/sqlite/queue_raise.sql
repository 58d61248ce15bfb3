UPDATE waybill_outbox_queue SET sent = max(sent, ?), told = max(told, ?) WHERE q = ? AND epoch = ?
