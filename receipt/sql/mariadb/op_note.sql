-- What a call has come to that was no answer for good; a later call is not spoken for. But that it was taken
-- there counts whoever learns it, and stays so until it is answered or for a person.
UPDATE waybill_operation SET state = CASE state WHEN 'pending' THEN ? ELSE ? END, reason = ?
WHERE scope = ? AND k = ? AND (calls = ? OR ? = 'pending') AND state IN ('intended', 'pending', 'busy')
