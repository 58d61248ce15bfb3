-- The answer that stood without its effect.
UPDATE waybill_operation SET state = ?, answer = ?, reason = ?, token = ?
WHERE scope = ? AND key = ? AND state = 'answered'
