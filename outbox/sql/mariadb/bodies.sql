SELECT seq, q, id, born, state, body FROM waybill_outbox WHERE seq IN (LIST) ORDER BY seq
