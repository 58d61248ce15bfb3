SELECT k, token, fp, job, born, CAST(UNIX_TIMESTAMP(at) * 1000 AS SIGNED), done, result FROM waybill_receipt
WHERE scope = ? AND (k = ? OR (k >= ? AND k < ?)) ORDER BY k LIMIT 1000
