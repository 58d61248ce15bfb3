UPDATE waybill_outbox_queue SET turn = turn + 1 WHERE q = $1 AND turn = $2 AND epoch = $3
