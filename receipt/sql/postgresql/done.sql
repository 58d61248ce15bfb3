UPDATE waybill_receipt SET done = true, result = $1 WHERE scope = $2 AND key = $3 AND token = $4
