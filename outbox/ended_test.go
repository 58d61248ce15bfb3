package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

// begun is a transaction that the test ends, or its end.
func (s *stand) begun(o *sql.TxOptions) *sql.Tx {
	s.t.Helper()
	tx, err := s.db.BeginTx(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func TestOutbox_Enqueue_badTransaction(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		t.Run("no transaction is ErrInvalid", func(t *testing.T) {
			_, many := s.box.EnqueueMany(t.Context(), nil, requests(1))
			for _, err := range []error{
				many, s.box.Enqueue(t.Context(), nil, request("a")), s.box.EnqueueInOrder(t.Context(), nil, "k", request("a")),
			} {
				if !errors.Is(err, outbox.ErrInvalid) || !strings.Contains(err.Error(), "tx: is nil") {
					t.Error(err)
				}
			}
		})
		t.Run("one that was committed is not to be run again", func(t *testing.T) {
			tx := s.begun(nil)
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			err := s.box.Enqueue(t.Context(), tx, request("late"))
			if !errors.Is(err, sql.ErrTxDone) || errors.Is(err, outbox.ErrRetry) {
				t.Error(err)
			}
		})
		t.Run("one whose context has ended says so", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tx, err := s.db.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			until(t, "it is over", func() bool { return errors.Is(tx.Rollback(), sql.ErrTxDone) })
			if err := s.box.Enqueue(ctx, tx, request("ended")); !errors.Is(err, context.Canceled) || errors.Is(err, outbox.ErrRetry) {
				t.Error(err)
			}
		})
		t.Run("in one that only reads nothing is entered, and it is over", func(t *testing.T) {
			if d.Dialect == outbox.SQLite {
				t.Skip("its drivers take no such option")
			}
			tx := s.begun(&sql.TxOptions{ReadOnly: true})
			if err := s.box.Enqueue(t.Context(), tx, request("read")); err == nil || errors.Is(err, outbox.ErrRetry) {
				t.Error(err)
			}
			if err := tx.Commit(); !errors.Is(err, sql.ErrTxDone) {
				t.Errorf("committing says %v", err)
			}
		})
		if n := s.rows().New; n != 0 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestOutbox_Enqueue_cancelled(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.box.Use(func(next waybill.Enqueuer) waybill.Enqueuer {
			return func(ctx context.Context, r []waybill.Request) []waybill.Enqueued {
				next(ctx, r[:1])
				cancel()
				return next(ctx, r)
			}
		})
		tx := s.begun(nil) // its own context goes on
		err := s.box.Enqueue(ctx, tx, requests(2)...)
		if !errors.Is(err, context.Canceled) || errors.Is(err, outbox.ErrRetry) {
			t.Error(err)
		}
		if err := tx.Commit(); err == nil {
			t.Error("what was entered in part can be committed")
		}
		until(t, "nothing is entered", func() bool { return s.rows().New == 0 })
	})
}

func TestOutbox_Enqueue_cancelledWhileItWaits(t *testing.T) {
	t.Parallel()
	for name, give := range map[string]func(testing.TB) *sqltest.Database{"postgresql": sqltest.Postgres, "mariadb": sqltest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, give(t), outbox.Options{})
			first := s.holder(sql.LevelReadCommitted, request("a"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tx, done := s.begun(nil), make(chan error, 1)
			go func() { done <- s.box.Enqueue(ctx, tx, request("b"), request("a")) }()
			until(t, "it waits for the row", func() bool { return s.waiting() > 0 })
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) || errors.Is(err, outbox.ErrRetry) {
				t.Error(err)
			}
			if err := tx.Commit(); err == nil {
				t.Error("it can be committed")
			}
			if err := first.Commit(); err != nil {
				t.Error(err)
			}
			if n := s.rows().New; n != 1 {
				t.Errorf("%d rows", n)
			}
		})
	}
}

// waiting counts the inserts that wait for a lock.
func (s *stand) waiting() (n int) {
	s.t.Helper()
	text := "SELECT count(*) FROM information_schema.processlist WHERE db = database() AND time_ms > 20 AND info LIKE 'INSERT INTO waybill\\\\_outbox%'"
	if s.d.Dialect == outbox.PostgreSQL {
		text = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
	}
	if err := s.db.QueryRowContext(s.t.Context(), text).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

func TestOutbox_Use_faults(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		t.Run("middleware that panics leaves the transaction to the caller", func(t *testing.T) {
			s := newStand(t, d, outbox.Options{})
			fault := errors.New("fault")
			s.box.Use(func(next waybill.Enqueuer) waybill.Enqueuer {
				return func(ctx context.Context, r []waybill.Request) []waybill.Enqueued {
					defer func() {
						if r[0].ID == "panics" {
							panic(fault)
						}
					}()
					return next(ctx, r)
				}
			})
			if err := s.in(func(tx *sql.Tx) error {
				func() {
					defer func() {
						if p := recover(); p != fault { //nolint:errorlint // it is that one
							t.Errorf("recovered %v", p)
						}
					}()
					_ = s.box.Enqueue(t.Context(), tx, request("panics"))
				}()
				return s.box.Enqueue(t.Context(), tx, request("goes-on"))
			}); err != nil {
				t.Error(err)
			}
			if n := s.rows().New; n != 2 {
				t.Errorf("%d rows", n)
			}
		})
		t.Run("what the database said first is told, though middleware tries again or hides it", func(t *testing.T) {
			db := d.Open(t)
			box, err := outbox.New(db, d.Dialect, outbox.Options{Tables: "none_"})
			if err != nil {
				t.Fatal(err)
			}
			calls := 0
			box.Use(func(next waybill.Enqueuer) waybill.Enqueuer {
				return func(ctx context.Context, r []waybill.Request) []waybill.Enqueued {
					next(ctx, r)
					if out := next(ctx, r); !errors.Is(out[0].Err, outbox.ErrNoTable) || out[0].Outcome != waybill.OutcomeUnavailable {
						t.Errorf("the second call: %+v", out)
					}
					calls++
					return []waybill.Enqueued{{ID: r[0].ID, Queue: r[0].Queue, Outcome: waybill.OutcomeAccepted}}
				}
			})
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			out, err := box.EnqueueMany(t.Context(), tx, requests(1))
			if !errors.Is(err, outbox.ErrNoTable) || errors.Is(err, sql.ErrTxDone) || calls != 1 {
				t.Errorf("%+v, %v", out, err)
			}
			if len(out) != 1 || !errors.Is(out[0].Err, outbox.ErrNoTable) {
				t.Errorf("the answer of a job that was rolled back: %+v", out)
			}
			if err := tx.Commit(); !errors.Is(err, sql.ErrTxDone) {
				t.Errorf("committing says %v", err)
			}
		})
	})
}
