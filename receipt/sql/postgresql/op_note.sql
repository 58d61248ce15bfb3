-- What a call has come to that was no answer for good; a later call is not spoken for. But that it was taken
-- there counts whoever learns it, and stays so until it is answered or for a person.
UPDATE waybill_operation SET state = CASE state WHEN 'pending' THEN $1 ELSE $2 END, reason = $3
WHERE scope = $4 AND key = $5 AND (calls = $6 OR $7::text = 'pending') AND state IN ('intended', 'pending', 'busy')
