CREATE TABLE waybill_receipt (
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  fp BLOB NOT NULL,
  token TEXT NOT NULL,
  job TEXT NOT NULL,
  born INTEGER NOT NULL,
  at INTEGER NOT NULL,
  done INTEGER NOT NULL DEFAULT 0,
  result BLOB,
  PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX waybill_receipt_born ON waybill_receipt (scope, born);
CREATE TABLE waybill_receipt_mark (
  scope TEXT NOT NULL PRIMARY KEY,
  before_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE waybill_receipt_force (
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE TABLE waybill_operation (
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  fp BLOB NOT NULL,
  token TEXT NOT NULL,
  job TEXT NOT NULL,
  born INTEGER NOT NULL,
  state TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  request BLOB NOT NULL,
  answer BLOB,
  reason TEXT NOT NULL DEFAULT '',
  calls INTEGER NOT NULL,
  intended_ms INTEGER NOT NULL,
  called_ms INTEGER NOT NULL,
  timeout_ms INTEGER NOT NULL,
  answered_ms INTEGER,
  PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX waybill_operation_born ON waybill_operation (scope, born);
CREATE INDEX waybill_operation_unfinished ON waybill_operation (scope, key) WHERE state IN ('intended', 'pending', 'busy', 'answered', 'unknown');
