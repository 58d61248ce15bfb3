UPDATE waybill_outbox_queue SET sent = greatest(sent, $1), told = greatest(told, $2) WHERE q = $3 AND epoch = $4
