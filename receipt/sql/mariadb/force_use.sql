DELETE FROM waybill_receipt_force WHERE scope = ? AND k = ?
