-- The plus keeps it from the index of new rows, which begins with the queue.
UPDATE waybill_outbox SET state = 1 WHERE seq IN (SELECT value FROM json_each(?)) AND +state = 0
