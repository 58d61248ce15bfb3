-- A force lasts until the next purge: the receipt of what it was not needed for may go now.
DELETE FROM waybill_receipt_force WHERE scope = $1
