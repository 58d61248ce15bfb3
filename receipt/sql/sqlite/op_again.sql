-- As a person says: nothing has happened, call again. That can't be known while a call may be under way.
UPDATE waybill_operation SET state = 'busy', reason = ?, token = ?, answer = NULL, answered_ms = NULL, intended_ms = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
WHERE scope = ? AND key = ? AND state NOT IN ('done', 'refused') AND (state <> 'answered' OR token = 'by hand')
  AND (state NOT IN ('intended', 'pending') OR called_ms + timeout_ms <= CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
