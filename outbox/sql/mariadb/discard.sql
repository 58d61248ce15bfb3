DELETE FROM waybill_outbox WHERE state = 5 AND IF(? = '', TRUE, q = ?) AND IF(? = '', TRUE, id = ?)
