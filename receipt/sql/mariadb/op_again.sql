-- As a person says: nothing has happened, call again.
UPDATE waybill_operation SET state = 'busy', reason = ?, token = ?, answer = NULL, answered_ms = NULL, intended_ms = CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)
WHERE scope = ? AND k = ? AND state NOT IN ('done', 'refused') AND (state <> 'answered' OR token = 'by hand')
