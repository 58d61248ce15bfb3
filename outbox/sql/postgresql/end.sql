-- What has ended stays ended.
UPDATE waybill_outbox SET state = $1, ended_ms = NOW_MS WHERE seq = ANY (string_to_array($2, ' ')::bigint[]) AND state IN (0, 1, 3)
