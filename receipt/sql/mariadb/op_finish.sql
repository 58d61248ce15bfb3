-- The answer that stood without its effect.
UPDATE waybill_operation SET state = ?, answer = ?, reason = ?, token = ?
WHERE scope = ? AND k = ? AND state = 'answered'
