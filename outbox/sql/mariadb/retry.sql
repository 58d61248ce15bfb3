UPDATE waybill_outbox SET state = 0, reason = '' WHERE state = 5 AND IF(? = '', TRUE, q = ?) AND IF(? = '', TRUE, id = ?)
