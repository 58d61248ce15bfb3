INSERT INTO waybill_outbox_queue (q) VALUES (?) ON CONFLICT (q) DO NOTHING
