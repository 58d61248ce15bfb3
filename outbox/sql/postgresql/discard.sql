DELETE FROM waybill_outbox WHERE state = 5 AND ($1 = '' OR q = $1) AND ($2 = '' OR id = $2)
