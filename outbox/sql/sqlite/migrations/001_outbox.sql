CREATE TABLE waybill_outbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  q TEXT NOT NULL,
  id TEXT NOT NULL,
  okey TEXT,
  fp BLOB NOT NULL DEFAULT x'',
  body BLOB NOT NULL,
  born INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  at_ms INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  state INTEGER NOT NULL DEFAULT 0,
  ended_ms INTEGER,
  reason TEXT NOT NULL DEFAULT '',
  UNIQUE (q, id)
);
CREATE INDEX waybill_outbox_new ON waybill_outbox (q, seq) WHERE state = 0;
CREATE INDEX waybill_outbox_okey ON waybill_outbox (q, okey, seq) WHERE state = 0 AND okey IS NOT NULL;
CREATE INDEX waybill_outbox_ended ON waybill_outbox (ended_ms) WHERE state IN (2, 4);
CREATE INDEX waybill_outbox_aside ON waybill_outbox (q, seq) WHERE state = 5;
CREATE TABLE waybill_outbox_name (
  one INTEGER PRIMARY KEY,
  name TEXT NOT NULL
);
CREATE TABLE waybill_outbox_queue (
  q TEXT NOT NULL PRIMARY KEY,
  epoch INTEGER NOT NULL DEFAULT 0,
  turn INTEGER NOT NULL DEFAULT 0,
  sent INTEGER NOT NULL DEFAULT 0,
  told INTEGER NOT NULL DEFAULT 0,
  unread INTEGER NOT NULL DEFAULT 0,
  oldest_ms INTEGER,
  read_ms INTEGER,
  strangers INTEGER NOT NULL DEFAULT 0,
  lost_ms INTEGER,
  lost_why TEXT NOT NULL DEFAULT ''
);
