-- What a call has come to that was no answer for good; a later call is not spoken for.
UPDATE waybill_operation SET state = $1, reason = $2
WHERE scope = $3 AND key = $4 AND calls = $5 AND state IN ('intended', 'pending', 'busy')
