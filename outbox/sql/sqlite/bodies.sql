SELECT seq, q, id, born, state, body FROM waybill_outbox WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq
