SELECT seq, okey, born, at_ms, state, ended_ms, reason, body FROM waybill_outbox WHERE q = $1 AND id = $2
