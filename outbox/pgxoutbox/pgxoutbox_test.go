package pgxoutbox_test

import (
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
