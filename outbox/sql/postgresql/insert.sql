-- ROWS stands for as many rows as there are.
INSERT INTO waybill_outbox (q, id, okey, fp, body, born, at_ms) VALUES ROWS
ON CONFLICT (q, id) DO NOTHING
RETURNING q, id
