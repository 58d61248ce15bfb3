SELECT q, epoch, turn, sent, told, unread, coalesce(oldest_ms, 0), coalesce(read_ms, 0), strangers, coalesce(lost_ms, 0), lost_why FROM waybill_outbox_queue WHERE q = $1
