-- With a lock: a snapshot would not show a rival's row. It decides.
SELECT token, fp, job, CAST(UNIX_TIMESTAMP(at) * 1000 AS SIGNED), done, result FROM waybill_receipt
WHERE scope = ? AND k = ? LOCK IN SHARE MODE
