DELETE FROM waybill_receipt_force WHERE scope = $1 AND key = $2
