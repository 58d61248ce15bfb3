SELECT seq, okey, born, at_ms, state, ended_ms, reason, body FROM waybill_outbox WHERE q = ? AND id = ?
