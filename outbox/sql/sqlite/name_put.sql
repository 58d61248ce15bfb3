INSERT INTO waybill_outbox_name (one, name) VALUES (1, ?) ON CONFLICT (one) DO NOTHING
