-- The queues that have rows to be sent, by the index.
SELECT DISTINCT q FROM waybill_outbox WHERE state = 0
