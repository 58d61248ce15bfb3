DELETE FROM waybill_outbox WHERE seq IN (SELECT seq FROM waybill_outbox WHERE state IN (2, 4) AND ended_ms < ? ORDER BY ended_ms LIMIT 1000)
