SELECT q, state, count(*), min(at_ms) FROM waybill_outbox GROUP BY q, state
