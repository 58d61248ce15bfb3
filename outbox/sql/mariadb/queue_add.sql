INSERT INTO waybill_outbox_queue (q) VALUES (?) ON DUPLICATE KEY UPDATE q = q
