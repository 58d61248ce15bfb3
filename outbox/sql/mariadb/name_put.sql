INSERT INTO waybill_outbox_name (one, name) VALUES (1, ?) ON DUPLICATE KEY UPDATE one = one
