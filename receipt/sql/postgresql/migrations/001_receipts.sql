CREATE TABLE waybill_receipt (
  scope text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  fp bytea NOT NULL,
  token text NOT NULL,
  job text NOT NULL,
  born bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  done boolean NOT NULL DEFAULT false,
  result bytea,
  PRIMARY KEY (scope, key)
);
CREATE INDEX ON waybill_receipt (scope, born);
CREATE TABLE waybill_receipt_mark (
  scope text COLLATE "C" PRIMARY KEY,
  before_ms bigint NOT NULL
);
CREATE TABLE waybill_receipt_force (
  scope text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  PRIMARY KEY (scope, key)
);
CREATE TABLE waybill_operation (
  scope text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  fp bytea NOT NULL,
  token text NOT NULL,
  job text NOT NULL,
  born bigint NOT NULL,
  state text NOT NULL,
  idempotency_key text NOT NULL,
  request bytea NOT NULL,
  answer bytea,
  reason text NOT NULL DEFAULT '',
  calls integer NOT NULL,
  intended_ms bigint NOT NULL,
  called_ms bigint NOT NULL,
  timeout_ms bigint NOT NULL,
  answered_ms bigint,
  PRIMARY KEY (scope, key)
);
CREATE INDEX ON waybill_operation (scope, born);
CREATE INDEX ON waybill_operation (scope, key) WHERE state IN ('intended', 'pending', 'busy', 'answered', 'unknown');
