package receipt_test

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
	"github.com/waybillhq/waybill/receipt/pgxreceipt"
)

// careless is InTx by a caller who commits, whatever came of it. It gives the error of InTx and that of the commit.
func (s *stand) careless(t *testing.T, k receipt.Key, f effect) (err, committed error) {
	t.Helper()
	if s.variant.native {
		tx, begun := s.pool.Begin(t.Context())
		must(t, begun)
		survive(func() {
			_, err = pgxreceipt.InTxResult(t.Context(), s.native, tx, k, func(ctx context.Context, tx pgx.Tx) (string, error) { return f(ctx, pgxExec(tx)) })
		})
		return err, tx.Commit(t.Context())
	}
	tx, begun := s.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: s.variant.level})
	must(t, begun)
	survive(func() {
		_, err = receipt.InTxResult(t.Context(), s.r, tx, k, func(ctx context.Context, tx *sql.Tx) (string, error) { return f(ctx, sqlExec(tx)) })
	})
	return err, tx.Commit()
}

// survive runs f, which may panic or end its goroutine.
func survive(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		f()
	}()
	<-done
}

func TestCarelessCaller(t *testing.T) {
	t.Parallel()
	each(t, some(), receipt.Options{}, func(t *testing.T, s *stand) {
		s.purge(t, 30)
		n := s.number()
		after := func(end func() (string, error)) effect {
			return func(ctx context.Context, x statement) (string, error) {
				if _, err := adds(n)(ctx, x); err != nil {
					return "", err
				}
				return end()
			}
		}
		for name, c := range map[string]struct {
			k receipt.Key
			f effect
		}{
			"an error of the effect": {key("error"), after(func() (string, error) { return "", errors.New("no cover") })},
			"a result too large":     {key("large"), after(func() (string, error) { return strings.Repeat("a", receipt.MaxResult), nil })},
			"a panic":                {key("panic"), after(func() (string, error) { panic("no cover") })},
			"an ended goroutine":     {key("exit"), after(func() (string, error) { runtime.Goexit(); return "", nil })},
			"a horizon":              {aged("horizon", 31), never(t)},
		} {
			err, committed := s.careless(t, c.k, c.f)
			if committed == nil {
				t.Errorf("%s (%v) could be committed", name, err)
			}
			if s.effects(t, n) != 0 || s.receiptsOf(t, c.k.ID) != 0 {
				t.Errorf("after %s: %d effects, %d receipts", name, s.effects(t, n), s.receiptsOf(t, c.k.ID))
			}
		}
		// The connections are as good as before.
		if res, err := s.inTx(t.Context(), key("error"), adds(n)); err != nil || res.Outcome != receipt.Applied || s.effects(t, n) != 1 {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

// An error that does not come from the database fails the job, whatever state the transaction is left in.
func TestOpenRowsAreTheUsersMistake(t *testing.T) {
	t.Parallel()
	s := variant{give: sqltest.Postgres, level: sql.LevelReadCommitted, native: true}.stand(t, receipt.Options{})
	mistake := errors.New("no cover")
	runs := 0
	for name, try := range map[string]func() error{
		"Do": func() error {
			_, err := s.native.Do(t.Context(), key("a"), func(ctx context.Context, tx pgx.Tx) error {
				runs++
				_, err := tx.Query(ctx, "SELECT generate_series(1, 100000)") //nolint:sqlclosecheck,rowserrcheck // the mistake
				return errors.Join(err, mistake)
			})
			return err
		},
		"InTx": func() error {
			tx, err := s.pool.Begin(t.Context())
			must(t, err)
			_, err = s.native.InTx(t.Context(), tx, key("a"), func(ctx context.Context, tx pgx.Tx) error {
				runs++
				_, err := tx.Query(ctx, "SELECT generate_series(1, 100000)") //nolint:sqlclosecheck,rowserrcheck // the mistake
				return errors.Join(err, mistake)
			})
			return err
		},
	} {
		err := try()
		if !errors.Is(err, mistake) || errors.Is(err, receipt.ErrRetry) {
			t.Errorf("%s: %v", name, err)
		}
		ends(t, err, waybill.AttemptRetry)
	}
	if runs != 2 {
		t.Errorf("%d runs", runs)
	}
}

// A connection that is lost in a transaction of the caller's is the database's, as it is in one of ours.
func TestLostInsideHeld(t *testing.T) {
	t.Parallel()
	each(t, servers(), receipt.Options{}, func(t *testing.T, s *stand) {
		kill := "SELECT pg_terminate_backend(pg_backend_pid())"
		if s.Dialect == receipt.MariaDB {
			kill = "KILL CONNECTION_ID()"
		}
		_, err := s.inTx(t.Context(), key("a"), func(ctx context.Context, x statement) (string, error) {
			_ = x(ctx, kill)
			return "", x(ctx, "SELECT 1")
		})
		if !errors.Is(err, receipt.ErrRetry) {
			t.Errorf("is %v", err)
		}
		ends(t, err, waybill.AttemptSnoozed)
	})
}
