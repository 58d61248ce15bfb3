package pgxoutbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/outbox/pgxoutbox"
)

func TestMain(m *testing.M) { redistest.Main(sqltest.Ending(m)) }

// newBox is an outbox on a pool, with its tables, and the pool. mode is how pgx sends statements.
func newBox(t *testing.T, mode pgx.QueryExecMode) (*pgxoutbox.Outbox, *pgxpool.Pool) {
	t.Helper()
	c, err := pgxpool.ParseConfig(sqltest.Postgres(t).DSN)
	if err != nil {
		t.Fatal(err)
	}
	c.ConnConfig.DefaultQueryExecMode = mode
	pool, err := pgxpool.NewWithConfig(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	box, err := pgxoutbox.New(pool, outbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box, pool
}

func request(id string) waybill.Request {
	return waybill.Request{Queue: "q", Kind: "k", ID: id, Payload: []byte{0, 1, 0xff}}
}

func TestOutbox(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]pgx.QueryExecMode{
		"prepared": pgx.QueryExecModeCacheStatement, "exec": pgx.QueryExecModeExec, "simple protocol": pgx.QueryExecModeSimpleProtocol,
		"described": pgx.QueryExecModeCacheDescribe, "described anew": pgx.QueryExecModeDescribeExec,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box, pool := newBox(t, mode)
			begin := func() pgx.Tx {
				t.Helper()
				tx, err := pool.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return tx
			}
			tx := begin()
			if err := box.Enqueue(t.Context(), tx, request("a")); !errors.Is(err, outbox.ErrNoTable) {
				t.Errorf("without tables: %v", err)
			}
			if err := tx.Commit(t.Context()); err == nil {
				t.Error("after an error the transaction can be committed")
			}
			if _, err := box.Migrate(t.Context(), outbox.Options{}); err != nil {
				t.Fatal(err)
			}
			undone := begin()
			err := errors.Join(box.Enqueue(t.Context(), undone, request("a")), undone.Rollback(t.Context()))
			tx = begin()
			again := request("a")
			again.Payload = []byte("other")
			out, conflict := box.EnqueueMany(t.Context(), tx, []waybill.Request{request("a"), request("a"), again, request("b")})
			if !errors.Is(conflict, outbox.ErrConflict) || len(out) != 4 || out[0].Outcome != waybill.OutcomeAccepted ||
				out[1].Outcome != waybill.OutcomeDuplicate || out[2].Outcome != waybill.OutcomeConflict || out[3].Outcome != waybill.OutcomeAccepted {
				t.Errorf("%+v, %v", out, conflict)
			}
			if err := errors.Join(err, box.EnqueueInOrder(t.Context(), tx, "key", request("c")), tx.Commit(t.Context())); err != nil {
				t.Error(err)
			}
			tx = begin()
			if err := box.EnqueueInOrder(t.Context(), tx, "", request("d")); !errors.Is(err, outbox.ErrInvalid) {
				t.Errorf("an empty key: %v", err)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Errorf("a refused request leaves the transaction open: %v", err)
			}
			if all, err := box.Lag(t.Context()); err != nil || len(all) != 1 || all[0].New != 3 {
				t.Errorf("%+v, %v", all, err)
			}
		})
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	if _, err := pgxoutbox.New(nil, outbox.Options{}); !errors.Is(err, outbox.ErrInvalid) {
		t.Errorf("without a pool: %v", err)
	}
	_, pool := newBox(t, pgx.QueryExecModeCacheStatement)
	if _, err := pgxoutbox.New(pool, outbox.Options{Tables: "a b"}); !errors.Is(err, outbox.ErrInvalid) {
		t.Errorf("a bad table name: %v", err)
	}
}

func TestOutbox_transaction(t *testing.T) {
	t.Parallel()
	box, pool := newBox(t, pgx.QueryExecModeCacheStatement)
	begin := func(tx func(context.Context) (pgx.Tx, error)) pgx.Tx {
		t.Helper()
		begun, err := tx(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = begun.Rollback(context.WithoutCancel(t.Context())) })
		return begun
	}
	t.Run("no transaction is ErrInvalid", func(t *testing.T) {
		_, many := box.EnqueueMany(t.Context(), nil, []waybill.Request{request("a")})
		for _, err := range []error{many, box.Enqueue(t.Context(), nil, request("a")), box.EnqueueInOrder(t.Context(), nil, "k", request("a"))} {
			if !errors.Is(err, outbox.ErrInvalid) {
				t.Error(err)
			}
		}
	})
	t.Run("after an error a nested one is undone as far as its begin", func(t *testing.T) {
		outer := begin(pool.Begin)
		inner := begin(outer.Begin)
		if err := box.Enqueue(t.Context(), inner, request("a")); !errors.Is(err, outbox.ErrNoTable) {
			t.Error(err)
		}
		if err := inner.Commit(t.Context()); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("committing the nested one says %v", err)
		}
		if err := outer.Commit(t.Context()); err != nil {
			t.Errorf("the outer one: %v", err)
		}
	})
	if _, err := box.Migrate(t.Context(), outbox.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Run("one that was committed is not to be run again", func(t *testing.T) {
		tx := begin(pool.Begin)
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := box.Enqueue(t.Context(), tx, request("a")); !errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, outbox.ErrRetry) {
			t.Error(err)
		}
	})
	t.Run("where the context ends in the midst nothing is entered", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		tx := begin(pool.Begin)
		if err := box.Enqueue(ctx, tx, request("a")); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := box.Enqueue(ctx, tx, request("b")); !errors.Is(err, context.Canceled) || errors.Is(err, outbox.ErrRetry) {
			t.Error(err)
		}
		if err := tx.Commit(t.Context()); err == nil {
			t.Error("it can be committed")
		}
		if all, err := box.Lag(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

func TestOutbox_rivals(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		t.Run(string(level)+": what somebody else committed meanwhile is a duplicate, or to be run again", func(t *testing.T) {
			t.Parallel()
			box, pool := newBox(t, pgx.QueryExecModeCacheStatement)
			if _, err := box.Migrate(t.Context(), outbox.Options{}); err != nil {
				t.Fatal(err)
			}
			first, err := pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			second, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
			if err != nil {
				t.Fatal(err)
			}
			var n int
			err = second.QueryRow(t.Context(), "SELECT count(*) FROM waybill_outbox").Scan(&n) // it has a snapshot
			if err = errors.Join(err, box.Enqueue(t.Context(), first, request("a")), first.Commit(t.Context())); err != nil {
				t.Fatal(err)
			}
			out, err := box.EnqueueMany(t.Context(), second, []waybill.Request{request("a")})
			if level == pgx.ReadCommitted {
				if err != nil || out[0].Outcome != waybill.OutcomeDuplicate {
					t.Errorf("%+v, %v", out, err)
				}
				err = second.Commit(t.Context())
			} else if !errors.Is(err, outbox.ErrRetry) {
				t.Errorf("is %v", err)
			} else if err = second.Commit(t.Context()); errors.Is(err, pgx.ErrTxClosed) {
				err = nil // rolled back, as it must be
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOutbox_Publish(t *testing.T) {
	t.Parallel()
	box, pool := newBox(t, pgx.QueryExecModeCacheStatement)
	if _, err := box.Migrate(t.Context(), outbox.Options{}); err != nil {
		t.Fatal(err)
	}
	event := request("a")
	event.Queue = "topic:orders"
	for _, c := range []struct {
		name string
		do   func(tx pgx.Tx) error
		want error
	}{
		{"a job", func(tx pgx.Tx) error { return box.Publish(t.Context(), tx, request("a")) }, outbox.ErrInvalid},
		{"without a key", func(tx pgx.Tx) error { return box.PublishInOrder(t.Context(), tx, "", event) }, outbox.ErrInvalid},
		{"without a transaction", func(pgx.Tx) error { return box.Publish(t.Context(), nil, event) }, outbox.ErrInvalid},
		{"an event", func(tx pgx.Tx) error { return box.PublishInOrder(t.Context(), tx, "key", event) }, nil},
		{"the same event", func(tx pgx.Tx) error { return box.Publish(t.Context(), tx, event) }, nil},
	} {
		err := pgx.BeginFunc(t.Context(), pool, c.do)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	row, err := box.Row(t.Context(), "topic:orders", "a")
	if err != nil || row.State != outbox.RowNew || row.Key != "key" {
		t.Errorf("%+v, %v", row, err)
	}
}
