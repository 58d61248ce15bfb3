-- As a person says. What the other side has answered stands.
UPDATE waybill_operation SET state = ?, answer = ?, reason = ?, token = ?, answered_ms = CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)
WHERE scope = ? AND k = ? AND state NOT IN ('done', 'refused') AND (state <> 'answered' OR token = 'by hand')
