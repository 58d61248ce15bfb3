-- As a person says. What the other side has answered stands; what it has not done can't be known while a call may be under way.
UPDATE waybill_operation SET state = ?, answer = ?, reason = ?, token = ?, answered_ms = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000
WHERE scope = ? AND k = ? AND state NOT IN ('done', 'refused') AND (state <> 'answered' OR token = 'by hand')
  AND (? = 'answered' OR state NOT IN ('intended', 'pending') OR called_ms + timeout_ms <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)
