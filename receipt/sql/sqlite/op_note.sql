-- What a call has come to that was no answer for good; a later call is not spoken for.
UPDATE waybill_operation SET state = ?, reason = ?
WHERE scope = ? AND key = ? AND calls = ? AND state IN ('intended', 'pending', 'busy')
