UPDATE waybill_outbox_queue SET lost_ms = NULL, lost_why = '', epoch = epoch + 1, sent = ?, told = ? WHERE q = ? AND epoch = ?
