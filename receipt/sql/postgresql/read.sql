-- A statement of its own: what waited for a rival does not see the rival's row.
SELECT token, fp, job, (extract(epoch FROM at) * 1000)::bigint, done, result FROM waybill_receipt WHERE scope = $1 AND key = $2
