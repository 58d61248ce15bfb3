UPDATE waybill_outbox_queue SET lost_ms = NULL, lost_why = '', epoch = epoch + 1, sent = $1, told = $2 WHERE q = $3 AND epoch = $4
