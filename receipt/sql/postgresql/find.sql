SELECT key, token, fp, job, born, (extract(epoch FROM at) * 1000)::bigint, done, result FROM waybill_receipt
WHERE scope = $1 AND (key = $2 OR (key >= $3 AND key < $4)) ORDER BY key LIMIT 1000
