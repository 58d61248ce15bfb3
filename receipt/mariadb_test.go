package receipt_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/waybillhq/waybill/receipt"
)

func mariadbs() (few []variant) {
	for _, v := range servers() {
		if v.name[0] == 'm' {
			few = append(few, v)
		}
	}
	return few
}

// swallowing is an effect that is the victim of a deadlock when it first runs, ignores that, and goes on.
func (s *stand) swallowing(t *testing.T, n int64) (f effect, end func()) {
	t.Helper()
	s.run(t, "CREATE TABLE account (id INTEGER PRIMARY KEY, total INTEGER NOT NULL) ENGINE=InnoDB")
	s.run(t, "INSERT INTO account SELECT seq, 0 FROM seq_0_to_199")
	rival, err := s.db.BeginTx(t.Context(), nil)
	must(t, err)
	// It has changed more rows, so the other one is the victim.
	must(t, sqlExec(rival)(t.Context(), "UPDATE account SET total = 1 WHERE id > 0"))
	done, runs := make(chan error, 1), 0
	f = func(ctx context.Context, x statement) (string, error) {
		value, err := adds(n)(ctx, x)
		if runs++; runs > 1 || err != nil {
			return value, err
		}
		if err := x(ctx, "UPDATE account SET total = 2 WHERE id = 0"); err != nil {
			return "", err
		}
		go func() { done <- sqlExec(rival)(ctx, "UPDATE account SET total = 1 WHERE id = 0") }()
		if err := x(ctx, "UPDATE account SET total = 2 WHERE id = 1"); err == nil {
			return "", errors.New("no deadlock")
		}
		return adds(n)(ctx, x) // as if nothing had been
	}
	return f, func() {
		must(t, <-done)
		must(t, rival.Rollback())
	}
}

func TestSwallowedDeadlock(t *testing.T) {
	t.Parallel()
	t.Run("Do commits nothing of it and runs again", func(t *testing.T) {
		t.Parallel()
		each(t, mariadbs(), receipt.Options{}, func(t *testing.T, s *stand) {
			n := s.number()
			f, end := s.swallowing(t, n)
			res, err := s.do(t.Context(), key("a"), f)
			end()
			if err != nil || res.Outcome != receipt.Applied || s.effects(t, n) != 1 || s.receiptsOf(t, "a") != 1 || s.r.Counts().Retried != 1 {
				t.Errorf("%+v, %v, %d effects, %d receipts, %+v", res, err, s.effects(t, n), s.receiptsOf(t, "a"), s.r.Counts())
			}
		})
	})
	t.Run("the caller is told", func(t *testing.T) {
		t.Parallel()
		each(t, mariadbs(), receipt.Options{}, func(t *testing.T, s *stand) {
			f, end := s.swallowing(t, s.number())
			_, err := s.inTx(t.Context(), key("a"), f)
			end()
			if !errors.Is(err, receipt.ErrRetry) || s.receiptsOf(t, "a") != 0 {
				t.Errorf("%v, %d receipts", err, s.receiptsOf(t, "a"))
			}
		})
	})
	t.Run("before the receipt it is seen", func(t *testing.T) {
		t.Parallel()
		each(t, mariadbs(), receipt.Options{}, func(t *testing.T, s *stand) {
			if s.dialect == receipt.MySQL {
				t.Skip("MySQL does not tell whether a transaction is open")
			}
			// As a deadlock ends it.
			_, err := s.inTxAfter(t.Context(), func(x statement) error { return x(t.Context(), "ROLLBACK") }, key("a"), never(t))
			if !errors.Is(err, receipt.ErrNotInTransaction) || !errors.Is(err, receipt.ErrRetry) || s.receiptsOf(t, "a") != 0 {
				t.Errorf("%v, %d receipts", err, s.receiptsOf(t, "a"))
			}
		})
	})
}

// session is what a connection is set to.
type session struct{ autocommit, lock, idle, open int }

func (s *stand) session(t *testing.T, q interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
},
) (is session) {
	t.Helper()
	idle := "@@idle_write_transaction_timeout"
	if s.dialect == receipt.MySQL {
		idle = "@@wait_timeout"
	}
	row := q.QueryRowContext(t.Context(), "SELECT @@autocommit, @@innodb_lock_wait_timeout, "+idle+", @@in_transaction")
	must(t, row.Scan(&is.autocommit, &is.lock, &is.idle, &is.open))
	return is
}

func TestSessionGivenBack(t *testing.T) {
	t.Parallel()
	each(t, mariadbs(), receipt.Options{LockTimeout: 6 * time.Second, IdleTimeout: 7 * time.Second}, func(t *testing.T, s *stand) {
		s.db.SetMaxOpenConns(1)
		fresh := s.session(t, s.db)
		name := "idle_write_transaction_timeout"
		if s.dialect == receipt.MySQL {
			name = "wait_timeout"
		}
		s.run(t, "SET SESSION innodb_lock_wait_timeout = 33, SESSION "+name+" = 444")
		own := session{autocommit: 1, lock: 33, idle: 444}
		for _, c := range []struct {
			name string
			ends func(cancel func(), x statement) error
			want session
		}{
			{"success", func(func(), statement) error { return nil }, own},
			{"an error", func(func(), statement) error { return errors.New("no cover") }, own},
			{"a panic", func(func(), statement) error { panic("no cover") }, own},
			{"an ignored error", func(_ func(), x statement) error { _ = x(t.Context(), "nonsense"); return nil }, own},
			{"a cancelled context", func(cancel func(), x statement) error { cancel(); return x(t.Context(), "DO 1") }, fresh},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			func() {
				defer func() { _ = recover() }()
				_, _ = s.r.Do(ctx, key(c.name), func(ctx context.Context, tx *sql.Tx) error {
					if is := s.session(t, tx); is.autocommit != 0 || is.lock < 5 || is.lock > 7 || is.idle != 7 {
						t.Errorf("inside: %+v", is)
					}
					return c.ends(cancel, sqlExec(tx))
				})
			}()
			cancel()
			if is := s.session(t, s.db); is != own && is != c.want {
				t.Errorf("after %s: %+v, want %+v", c.name, is, c.want)
			}
		}
	})
}

// database/sql rolls back in the background when the context ends; what was done meanwhile must not be committed by
// giving the connection back.
func TestCancelledCommitsNothing(t *testing.T) {
	t.Parallel()
	each(t, some(), receipt.Options{}, func(t *testing.T, s *stand) {
		n, times := s.number(), 5
		if s.Dialect == receipt.MariaDB {
			times = 100
		}
		for i := range times {
			ctx, cancel := context.WithCancel(t.Context())
			id := fmt.Sprint("job-", i)
			_, err := s.do(ctx, key(id), func(ctx context.Context, x statement) (string, error) {
				value, err := adds(n)(ctx, x)
				cancel()
				return value, err
			})
			cancel()
			if err == nil {
				t.Fatal("no error")
			}
		}
		if s.effects(t, n) != 0 || s.count(t, "SELECT count(*) FROM waybill_receipt") != 0 {
			t.Errorf("%d effects, %d receipts", s.effects(t, n), s.count(t, "SELECT count(*) FROM waybill_receipt"))
		}
	})
}
