CREATE TABLE waybill_outbox (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  q text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  okey text COLLATE "C",
  fp bytea NOT NULL DEFAULT '',
  body bytea NOT NULL,
  born bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
  at_ms bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
  state smallint NOT NULL DEFAULT 0,
  ended_ms bigint,
  reason text NOT NULL DEFAULT '',
  UNIQUE (q, id)
);
CREATE INDEX ON waybill_outbox (q, seq) WHERE state = 0;
CREATE INDEX ON waybill_outbox (q, okey, seq) WHERE state = 0 AND okey IS NOT NULL;
CREATE INDEX ON waybill_outbox (ended_ms) WHERE state IN (2, 4);
CREATE INDEX ON waybill_outbox (q, seq) WHERE state = 5;
CREATE TABLE waybill_outbox_name (
  one smallint PRIMARY KEY,
  name text NOT NULL
);
CREATE TABLE waybill_outbox_queue (
  q text COLLATE "C" PRIMARY KEY,
  epoch bigint NOT NULL DEFAULT 0,
  turn bigint NOT NULL DEFAULT 0,
  sent bigint NOT NULL DEFAULT 0,
  told bigint NOT NULL DEFAULT 0,
  unread bigint NOT NULL DEFAULT 0,
  oldest_ms bigint,
  read_ms bigint,
  strangers bigint NOT NULL DEFAULT 0,
  lost_ms bigint,
  lost_why text NOT NULL DEFAULT ''
);
