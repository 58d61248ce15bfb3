package receipt_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
)

// closed is a database that nothing may be sent to.
type closed struct{ t *testing.T }

func (c closed) Connect(context.Context) (driver.Conn, error) {
	c.t.Error("a connection was asked for")
	return nil, driver.ErrBadConn
}

func (closed) Driver() driver.Driver { return nil }

func closedDB(t *testing.T) *sql.DB {
	db := sql.OpenDB(closed{t})
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestKeyLimits(t *testing.T) {
	t.Parallel()
	r, err := receipt.New(closedDB(t), receipt.MariaDB, receipt.Options{})
	must(t, err)
	for name, c := range map[string]struct {
		change func(*receipt.Key)
		says   []string
	}{
		"no scope":             {func(k *receipt.Key) { k.Scope = "" }, []string{"scope", "190"}},
		"long scope":           {func(k *receipt.Key) { k.Scope = strings.Repeat("a", 191) }, []string{"scope", "191", "190"}},
		"scope with a colon":   {func(k *receipt.Key) { k.Scope = "other:pay" }, []string{"scope", "colons"}},
		"step with a space":    {func(k *receipt.Key) { *k = key("a", "b c", "d") }, []string{"step", "b c"}},
		"empty step":           {func(k *receipt.Key) { *k = key("a", "") }, []string{"step", "empty"}},
		"no id":                {func(k *receipt.Key) { k.ID = "" }, []string{"receipt id", "512"}},
		"long id":              {func(k *receipt.Key) { k.ID = strings.Repeat("é", 257) }, []string{"receipt id", "514", "512"}},
		"id is no text":        {func(k *receipt.Key) { k.ID = "a\xff" }, []string{"receipt id", "UTF-8"}},
		"id with a zero":       {func(k *receipt.Key) { k.ID = "a\x00" }, []string{"receipt id", "zero"}},
		"no token":             {func(k *receipt.Key) { k.Token = "" }, []string{"token", "128"}},
		"long token":           {func(k *receipt.Key) { k.Token = strings.Repeat("a", 129) }, []string{"token", "129", "128"}},
		"long job":             {func(k *receipt.Key) { k.Job = strings.Repeat("a", 129) }, []string{"job", "129", "128"}},
		"no fingerprint":       {func(k *receipt.Key) { k.Fingerprint = nil }, []string{"fingerprint", "1 to 32"}},
		"long fingerprint":     {func(k *receipt.Key) { k.Fingerprint = make([]byte, 33) }, []string{"fingerprint", "33", "32"}},
		"no birth":             {func(k *receipt.Key) { k.Born = time.Time{} }, []string{"born"}},
		"long idempotency key": {func(k *receipt.Key) { k.IdempotencyKey = strings.Repeat("a", 256) }, []string{"idempotency key", "256", "255"}},
	} {
		t.Run(name+" is refused before anything is sent", func(t *testing.T) {
			k := key("a")
			c.change(&k)
			_, do := r.Do(t.Context(), k, func(context.Context, *sql.Tx) error { return nil })
			_, in := r.InTx(t.Context(), nil, k, func(context.Context, *sql.Tx) error { return nil })
			for _, err := range []error{do, in} {
				if !errors.Is(err, receipt.ErrInvalid) {
					t.Fatalf("is %v", err)
				}
				for _, part := range c.says {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q is not in: %v", part, err)
					}
				}
			}
		})
	}
	t.Run("a scope of another installation is refused by purges and forces too", func(t *testing.T) {
		_, purge := r.Purge(t.Context(), "other:pay", 0, nil)
		_, count := r.CountPurge(t.Context(), "other:pay", 0)
		for _, err := range []error{purge, count, r.Force(t.Context(), "other:pay", "a")} {
			if !errors.Is(err, receipt.ErrInvalid) {
				t.Errorf("is %v", err)
			}
		}
	})
	t.Run("facts that do not encode are told", func(t *testing.T) {
		_, err := r.Do(t.Context(), key("a").Business("paid", make(chan int)), func(context.Context, *sql.Tx) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "facts") {
			t.Errorf("is %v", err)
		}
	})
}

func TestNew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		d    receipt.Dialect
		o    receipt.Options
		says string
	}{
		"dialect":         {"oracle", receipt.Options{}, "postgresql"},
		"installation":    {receipt.SQLite, receipt.Options{Installation: "a:b"}, "64"},
		"tables":          {receipt.SQLite, receipt.Options{Tables: "Way-"}, "40"},
		"tables' schema":  {receipt.SQLite, receipt.Options{Tables: "jobs.waybill_"}, "schema"},
		"lock timeout":    {receipt.SQLite, receipt.Options{LockTimeout: -1}, "24h"},
		"idle timeout":    {receipt.SQLite, receipt.Options{IdleTimeout: 25 * time.Hour}, "24h"},
		"retry for":       {receipt.SQLite, receipt.Options{RetryFor: -1}, "24h"},
		"isolation":       {receipt.PostgreSQL, receipt.Options{Isolation: sql.LevelLinearizable}, "Linearizable"},
		"isolation there": {receipt.SQLite, receipt.Options{Isolation: sql.LevelReadCommitted}, "Read Committed"},
	} {
		t.Run("a wrong "+name+" is refused", func(t *testing.T) {
			_, err := receipt.New(closedDB(t), c.d, c.o)
			if !errors.Is(err, receipt.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("is %v", err)
			}
		})
	}
	if _, err := receipt.New(nil, receipt.SQLite, receipt.Options{}); !errors.Is(err, receipt.ErrInvalid) {
		t.Errorf("without a database: %v", err)
	}
}

// A business key is kept by its name, whoever's job it was, and compared by its facts.
func TestBusiness(t *testing.T) {
	t.Parallel()
	s := variant{give: sqltest.SQLite}.stand(t, receipt.Options{})
	for _, c := range []struct {
		job    string
		amount int
		want   error
	}{{"order-1", 10, nil}, {"order-2", 10, nil}, {"order-3", 11, receipt.ErrMismatch}} {
		_, err := s.do(t.Context(), key(c.job).Business("invoice 17 paid", "EUR", c.amount), adds(1))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.job, err, c.want)
		}
	}
	if s.effects(t, 1) != 1 || s.receiptsOf(t, "invoice 17 paid") != 1 {
		t.Errorf("%d effects", s.effects(t, 1))
	}
}
