-- What has ended stays ended.
UPDATE waybill_outbox SET state = ?, ended_ms = NOW_MS WHERE seq IN (SELECT value FROM json_each(?)) AND state IN (0, 1, 3)
