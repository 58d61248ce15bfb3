package pgxreceipt_test

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
	"github.com/waybillhq/waybill/receipt/pgxreceipt"
)

func TestMain(m *testing.M) { sqltest.Main(m) }

// What Do and InTx do is tested in package receipt, with those of the other drivers.
func TestNew(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), sqltest.Postgres(t).DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	for name, c := range map[string]struct {
		pool *pgxpool.Pool
		o    receipt.Options
	}{
		"no pool":                         {nil, receipt.Options{}},
		"an isolation that pgx has not":   {pool, receipt.Options{Isolation: sql.LevelSnapshot}},
		"an installation with a bad name": {pool, receipt.Options{Installation: "a b"}},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			if _, err := pgxreceipt.New(c.pool, c.o); !errors.Is(err, receipt.ErrInvalid) {
				t.Errorf("is %v", err)
			}
		})
	}
	t.Run("closing leaves the pool open", func(t *testing.T) {
		r, err := pgxreceipt.New(pool, receipt.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Close(), pool.Ping(t.Context())); err != nil {
			t.Error(err)
		}
	})
}
