-- ROWS stands for as many rows as there are. Whose a row is, its entry tells: the number of affected rows does not.
INSERT INTO waybill_outbox (q, id, okey, fp, body, born, at_ms, entry) VALUES ROWS
ON DUPLICATE KEY UPDATE seq = seq
