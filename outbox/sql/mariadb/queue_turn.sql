UPDATE waybill_outbox_queue SET turn = turn + 1 WHERE q = ? AND turn = ? AND epoch = ?
