package receipt_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

const day = 24 * time.Hour

// aged is the key of a job that was due some days ago.
func aged(id string, days int) receipt.Key {
	a := delivery(id)
	a.DueAt = time.Now().Add(-time.Duration(days) * day)
	return keyOf(a)
}

// refused fails unless err is an ErrHorizon that ends the job.
func refused(t *testing.T, k receipt.Key, err error) {
	t.Helper()
	var h *receipt.HorizonError
	if !errors.As(err, &h) || !errors.Is(err, receipt.ErrHorizon) || h.ID != k.ID || !h.Born.Equal(k.Born) || !h.Purged.After(k.Born) {
		t.Errorf("%q: %+v, %v", k.ID, h, err)
	}
	ends(t, err, waybill.AttemptDead)
}

func (s *stand) purge(t *testing.T, days int) receipt.Purged {
	t.Helper()
	p, err := s.r.Purge(t.Context(), "pay", time.Duration(days)*day, nil)
	must(t, err)
	return p
}

func TestPurge(t *testing.T) {
	t.Parallel()
	each(t, some(), receipt.Options{}, func(t *testing.T, s *stand) {
		for name, way := range s.ways() {
			t.Run(name, func(t *testing.T) { facts{s, way, name}.purges(t) })
		}
		t.Run("the mark never goes back", func(t *testing.T) {
			s.purge(t, 30)
			s.purge(t, 40)
			k := aged("between", 35)
			_, err := s.do(t.Context(), k, never(t))
			refused(t, k, err)
		})
	})
}

func (f facts) purges(t *testing.T) {
	old, n := f.name+" old", f.number()
	_, err := f.way(t.Context(), aged(old, 31), adds(n))
	if err != nil && !errors.Is(err, receipt.ErrHorizon) { // the other form has purged before
		t.Fatal(err)
	}
	before := f.effects(t, n)
	f.purge(t, 30)
	if f.receiptsOf(t, old) != 0 {
		t.Error("the old receipt is there")
	}
	counts := f.r.Counts()
	k := aged(old, 31) // from an older copy of Redis, say: it was born when it was born
	_, err = f.way(t.Context(), k, never(t))
	refused(t, k, err)
	if f.effects(t, n) != before || f.r.Counts().Horizons != counts.Horizons+1 || f.receiptsOf(t, old) != 0 {
		t.Errorf("%d effects, %d receipts, counts %+v", f.effects(t, n), f.receiptsOf(t, old), f.r.Counts())
	}
	young := aged(f.name+" young", 29)
	res, err := f.way(t.Context(), young, adds(n))
	if err != nil || res.Outcome != receipt.Applied {
		t.Errorf("a younger one: %+v, %v", res, err)
	}
	f.purge(t, 30)
	if f.receiptsOf(t, young.ID) != 1 {
		t.Error("the younger receipt is gone")
	}
	f.forces(t)
}

// forces: a force is used by the one transaction that commits.
func (f facts) forces(t *testing.T) {
	k, n := aged(f.name+" forced", 31), f.number()
	must(t, f.r.Force(t.Context(), "pay", k.ID))
	must(t, f.r.Force(t.Context(), "pay", k.ID))
	own := errors.New("no cover")
	if _, err := f.way(t.Context(), k, func(context.Context, statement) (string, error) { return "", own }); !errors.Is(err, own) {
		t.Errorf("with a failing effect: %v", err)
	}
	other := aged(f.name+" other", 31)
	_, err := f.way(t.Context(), other, never(t))
	refused(t, other, err)
	res, err := f.way(t.Context(), k, adds(n))
	if err != nil || res.Outcome != receipt.Applied {
		t.Errorf("forced: %+v, %v", res, err)
	}
	if err := f.r.Force(t.Context(), "pay", k.ID); !errors.Is(err, receipt.ErrApplied) {
		t.Errorf("a force where there is a receipt: %v", err)
	}
	must(t, f.r.Force(t.Context(), "pay", other.ID))
	f.purge(t, 30) // ends what was not used
	_, err = f.way(t.Context(), other, never(t))
	refused(t, other, err)
	_, err = f.way(t.Context(), k, never(t))
	refused(t, k, err)
	if f.effects(t, n) != 1 {
		t.Errorf("%d effects", f.effects(t, n))
	}
}

// A snapshot shows neither the mark that was made or moved after it, nor that the receipt is gone.
func TestPurgeBesideSnapshot(t *testing.T) {
	t.Parallel()
	for name, marked := range map[string]bool{"the first mark of a scope": false, "a moved mark": true} {
		t.Run(name+" is not missed", func(t *testing.T) {
			t.Parallel()
			each(t, some(), receipt.Options{}, func(t *testing.T, s *stand) {
				if strings.Contains(s.DSN, "immediate") {
					t.Skip("a transaction that holds the write lock has no rival")
				}
				n, id := s.number(), "a"
				young := delivery(id) // it makes no mark as long as it is the queue's first and young
				young.DueAt = time.Now().Add(-31 * day)
				if marked {
					s.purge(t, 40)
				}
				k := keyOf(young)
				s.enterReceipt(t, k)
				_, err := s.inTxAfter(t.Context(), func(x statement) error {
					if err := x(t.Context(), "SELECT count(*) FROM looked"); err != nil {
						return err
					}
					s.purge(t, 30)
					return nil
				}, aged(id, 31), adds(n))
				if !errors.Is(err, receipt.ErrRetry) && !errors.Is(err, receipt.ErrHorizon) || s.effects(t, n) != 0 {
					t.Errorf("%v, %d effects", err, s.effects(t, n))
				}
			})
		})
	}
}

// enterReceipt writes a receipt past the package, so that no mark is made.
func (s *stand) enterReceipt(t *testing.T, k receipt.Key) {
	t.Helper()
	s.enterMany(t, k, 1)
}

// enterMany writes receipts of one age.
func (s *stand) enterMany(t *testing.T, k receipt.Key, n int) {
	t.Helper()
	column, at, value := "key", "", ""
	switch s.Dialect {
	case receipt.MariaDB:
		column = "k"
	case receipt.SQLite:
		at, value = ", at", ", 1"
	}
	var rows []string
	for i := range n {
		id := k.ID
		if i > 0 {
			id += fmt.Sprint("-", i)
		}
		rows = append(rows, fmt.Sprintf("('%s', '%s', 'fp', 'rival', '', %d%s)", k.Scope, id, k.Born.UnixMilli(), value))
	}
	s.run(t, "INSERT INTO waybill_receipt (scope, "+column+", fp, token, job, born"+at+") VALUES "+strings.Join(rows, ", "))
}

// one variant for each database.
func databases() (few []variant) {
	for _, v := range some() {
		if v.level == sql.LevelReadCommitted && (v.name[0] == 'p' || v.name[0] == 'm') && v.dsn[0] == "" && v.as == "" || v.level == sql.LevelDefault {
			few = append(few, v)
		}
	}
	return few
}

func TestPurgeSteps(t *testing.T) {
	t.Parallel()
	each(t, databases(), receipt.Options{}, func(t *testing.T, s *stand) {
		t.Run("goes by 1,000 rows and tells of each", func(t *testing.T) {
			s.enterMany(t, aged("many", 31), 2500)
			s.enterMany(t, aged("young", 29), 1)
			var told []int64
			p, err := s.r.Purge(t.Context(), "pay", 0, func(p receipt.Purged) { told = append(told, p.Receipts) })
			must(t, err)
			if fmt.Sprint(told) != "[1000 2000 2500]" || p.Receipts != 2500 || time.Until(p.Before).Abs() < 30*day-time.Minute {
				t.Errorf("told %v, %+v", told, p)
			}
			if got := s.count(t, "SELECT count(*) FROM waybill_receipt"); got != 1 {
				t.Errorf("%d receipts are left", got)
			}
		})
		t.Run("an age under a day and a scope that is none are refused", func(t *testing.T) {
			for scope, age := range map[string]time.Duration{
				"pay": day - 1, "": day, strings.Repeat("q", 191): day, "negative": -day,
			} {
				if _, err := s.r.Purge(t.Context(), scope, age, nil); !errors.Is(err, receipt.ErrInvalid) {
					t.Errorf("%q, %s: %v", scope, age, err)
				}
			}
		})
		t.Run("scopes and installations are apart", func(t *testing.T) { s.apart(t) })
	})
}

func (s *stand) apart(t *testing.T) {
	mine := s.r
	s.receipts(t, receipt.Options{Installation: "blue"})
	blue := s.r
	k := aged("apart", 33)
	k.Scope = "mail"
	for _, r := range []*receipt.Receipts{mine, blue} {
		s.r = r
		for _, scope := range []string{"mail", "news"} {
			k.Scope = scope
			_, err := receipt.DoResult(t.Context(), r, k, func(context.Context, *sql.Tx) (string, error) { return "", nil })
			must(t, err)
		}
	}
	p, err := blue.Purge(t.Context(), "mail", 32*day, nil)
	if err != nil || p.Receipts != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	for r, want := range map[*receipt.Receipts]string{mine: "[mail news pay]", blue: "[news]"} {
		if got, err := r.Scopes(t.Context()); fmt.Sprint(got) != want || err != nil {
			t.Errorf("scopes %v, %v, want %s", got, err, want)
		}
	}
	for _, c := range []struct {
		r     *receipt.Receipts
		scope string
		want  error
	}{{mine, "mail", nil}, {blue, "news", nil}, {blue, "mail", receipt.ErrHorizon}} {
		k.Scope, k.Token = c.scope, "again"
		if _, err := c.r.Do(t.Context(), k, func(context.Context, *sql.Tx) error { return nil }); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.scope, err, c.want)
		}
	}
}
