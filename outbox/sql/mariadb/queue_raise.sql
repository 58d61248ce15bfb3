UPDATE waybill_outbox_queue SET sent = GREATEST(sent, ?), told = GREATEST(told, ?) WHERE q = ? AND epoch = ?
