-- The first answer stands.
UPDATE waybill_operation SET state = ?, answer = ?, reason = ?, token = ?, answered_ms = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000
WHERE scope = ? AND k = ? AND state NOT IN ('done', 'refused', 'answered')
