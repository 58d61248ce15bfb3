SELECT key, token, fp, job, born, at, done, result FROM waybill_receipt
WHERE scope = ? AND (key = ? OR (key >= ? AND key < ?)) ORDER BY key LIMIT 1000
