UPDATE waybill_receipt SET done = 1, result = ? WHERE scope = ? AND key = ? AND token = ?
