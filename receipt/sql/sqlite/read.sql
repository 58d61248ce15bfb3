SELECT token, fp, job, at, done, result FROM waybill_receipt WHERE scope = ? AND key = ?
