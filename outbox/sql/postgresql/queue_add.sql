INSERT INTO waybill_outbox_queue (q) VALUES ($1) ON CONFLICT (q) DO NOTHING
