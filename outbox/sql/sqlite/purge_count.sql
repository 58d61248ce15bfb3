SELECT count(*) FROM waybill_outbox WHERE state IN (2, 4) AND ended_ms < ?
