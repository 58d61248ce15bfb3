package receipt_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
)

// told are findings in lines; what is checked is in the begin of each.
func told(found []receipt.Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s %s: %s\n", f.Level, f.Check, f.What)
		if (f.Do == "") != (f.Level == receipt.LevelOK) {
			fmt.Fprintf(&b, "  what to do is %q\n", f.Do)
		}
	}
	return b.String()
}

func TestReceipts_Check(t *testing.T) {
	t.Parallel()
	durable := map[dialect.Dialect]string{ // as the servers of the tests are
		dialect.PostgreSQL: "bad durability: fsync = off",
		dialect.MariaDB:    "durability: innodb_flush_log_at_trx_commit = ",
		dialect.SQLite:     "bad durability: synchronous = 0",
	}
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		db := d.Open(t)
		r, err := receipt.New(db, d.Dialect, receipt.Options{})
		must(t, err)
		check := func(want ...string) {
			t.Helper()
			found, err := r.Check(t.Context())
			must(t, err)
			for _, w := range want {
				if got := told(found); !strings.Contains(got, w) || strings.Contains(got, "what to do is") {
					t.Errorf("found no %q in\n%s", w, got)
				}
			}
		}
		check("ok connection: "+string(d.Dialect), "bad tables: there are none", durable[d.Dialect])
		steps, err := receipt.Migrations(d.Dialect, receipt.Options{})
		must(t, err)
		for _, s := range steps[0].Statements {
			_, err = db.ExecContext(t.Context(), s)
			must(t, err)
		}
		check("ok tables: waybill_receipt is there, made by migrations of your own")
	})
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		w := newOpWorld(t, d, receipt.Options{Tables: "other_"})
		found, err := w.r.Check(t.Context())
		must(t, err)
		if got := told(found); !strings.Contains(got, "ok tables: other_receipt and the others, at step 1 of 1") {
			t.Error(got)
		}
		w.exec("UPDATE other_migration SET number = 7")
		if found, err = w.r.Check(t.Context()); err != nil || !strings.Contains(told(found), "warn tables: they are at step 7, and this version knows 1") {
			t.Errorf("%s%v", told(found), err)
		}
		must(t, w.db.Close())
		if found, err = w.r.Check(t.Context()); err != nil || len(found) != 1 || found[0].Level != receipt.LevelBad {
			t.Errorf("%s%v", told(found), err)
		}
	})
}

func TestReceipts_CheckQueue(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c, err := waybill.NewClient(s.Client(), waybill.ClientOptions{})
	must(t, err)
	_, err = c.Enqueue(t.Context(), waybill.Request{Queue: "q", Kind: "k", ID: "id"})
	must(t, err)
	q := c.Queue("q")
	w := newOpWorld(t, sqltest.SQLite(t), receipt.Options{Installation: "shop"})
	check := func(age time.Duration, want ...string) {
		t.Helper()
		found, err := w.r.CheckQueue(t.Context(), q, age)
		must(t, err)
		for _, text := range want {
			if got := told(found); !strings.Contains(got, text) || strings.Contains(got, "what to do is") {
				t.Errorf("found no %q in\n%s", text, got)
			}
		}
	}
	check(0, "ok clocks: ", "warn retention: dead jobs are kept for 90d, receipts for 30d", "ok purged: nothing so far",
		"ok next purge: takes what was born before ")
	check(100*24*time.Hour, "ok retention: dead jobs are kept for 90d, receipts for 100d")
	never := time.Duration(waybill.Unlimited)
	must(t, q.Set(t.Context(), waybill.QueueSettings{DeadAge: &never}))
	check(0, "warn retention: dead jobs are kept for ever, receipts for 30d")
	check(time.Nanosecond, "warn next purge: takes what was born before ", "1 of 1 jobs looked at")
	_, err = w.r.Purge(t.Context(), "q", 0, nil)
	must(t, err)
	check(0, "ok purged: what was born before 20")
	w.exec("UPDATE waybill_receipt_mark SET before_ms = before_ms + 3000000000") // a clock that was wrong
	check(0, "warn purged: what was born before 20", "1 of 1 jobs looked at are older")

	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := w.r.CheckQueue(ended, q, 0); err == nil {
		t.Error("a context that has ended is no error")
	}
}
