SELECT name FROM waybill_outbox_name WHERE one = 1
