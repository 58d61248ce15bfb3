package receipt_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
)

func TestExecModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run("pgx in mode "+mode+" keeps receipts", func(t *testing.T) {
			t.Parallel()
			v := variant{give: sqltest.Postgres, dsn: [2]string{"default_query_exec_mode", mode}}
			s := v.stand(t, receipt.Options{})
			for name, way := range s.ways() {
				n, k := s.number(), aged(name, 31) // so that the mark is read too
				res, err := way(t.Context(), k, adds(n))
				must(t, err)
				k.Token = "another"
				again, err := way(t.Context(), k, never(t))
				if err != nil || again.Outcome != receipt.Replayed || again.Value != res.Value || s.effects(t, n) != 1 {
					t.Errorf("%s: %+v, %v, %d effects", name, again, err, s.effects(t, n))
				}
			}
		})
	}
}

// purging is a session in which something happens after the first statement.
type purging struct {
	tx    *sql.Tx
	after func()
}

func (p *purging) QueryOne(ctx context.Context, query string, args, dest []any) (bool, error) {
	err := p.tx.QueryRowContext(ctx, query, args...).Scan(dest...)
	if p.after != nil {
		p.after()
		p.after = nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (p *purging) Change(ctx context.Context, query string, args []any) (int64, error) {
	said, err := p.tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return said.RowsAffected()
}

func (p *purging) RollBack(_ context.Context, err error) error {
	if back := p.tx.Rollback(); back != nil {
		return errors.Join(err, back)
	}
	return err
}

func TestPurgedMeanwhile(t *testing.T) {
	t.Parallel()
	t.Run("a receipt that met the insert and is gone when it is read is a retry", func(t *testing.T) {
		t.Parallel()
		s := variant{give: sqltest.Postgres, level: sql.LevelReadCommitted}.stand(t, receipt.Options{})
		k := aged("a", 31)
		s.enterReceipt(t, k)
		tx, err := s.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: s.variant.level})
		must(t, err)
		defer func() { _ = tx.Rollback() }()
		_, err = receipt.InSession(t.Context(), s.r, &purging{tx, func() { s.purge(t, 30) }}, k, func(context.Context) (string, error) {
			return never(t)(t.Context(), nil)
		})
		if !errors.Is(err, receipt.ErrRetry) {
			t.Errorf("is %v", err)
		}
	})
}
