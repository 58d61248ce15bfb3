-- The next queue that has rows to be sent, by the index: DISTINCT would read all of them.
SELECT q FROM waybill_outbox FORCE INDEX (state) WHERE state = 0 AND q >= ? ORDER BY q LIMIT 1
