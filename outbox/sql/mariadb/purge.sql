-- By one state at a time, by the index.
DELETE FROM waybill_outbox WHERE state = ? AND ended_ms < ? ORDER BY ended_ms LIMIT 1000
