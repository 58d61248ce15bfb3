-- As a person says: nothing has happened, call again. That can't be known while a call may be under way.
UPDATE waybill_operation SET state = 'busy', reason = ?, token = ?, answer = NULL, answered_ms = NULL, intended_ms = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000
WHERE scope = ? AND k = ? AND state NOT IN ('done', 'refused') AND (state <> 'answered' OR token = 'by hand')
  AND (state NOT IN ('intended', 'pending') OR called_ms + timeout_ms <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)
