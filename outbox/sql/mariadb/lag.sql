SELECT q, count(*), min(at_ms) FROM waybill_outbox WHERE state = 0 GROUP BY q
