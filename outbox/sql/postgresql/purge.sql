DELETE FROM waybill_outbox o USING (
  SELECT seq FROM waybill_outbox WHERE state IN (2, 4) AND ended_ms < $1 ORDER BY ended_ms LIMIT 1000 FOR UPDATE SKIP LOCKED
) old WHERE o.seq = old.seq
