DELETE FROM waybill_outbox_queue WHERE q = $1
