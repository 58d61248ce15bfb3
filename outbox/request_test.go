package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

func TestOutbox_Enqueue_properties(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		began := time.Now().Add(-5 * time.Millisecond)
		due := time.Now().Add(90 * time.Minute).Truncate(time.Millisecond)
		for id, change := range map[string]func(*waybill.Request){
			"plain": func(*waybill.Request) {},
			"full": func(r *waybill.Request) {
				r.Priority, r.LIFO, r.MaxFailures, r.Retention, r.Version = 7, true, 3, time.Hour, 5
				r.Headers = map[string]string{"tenant": "näme"}
			},
			"delayed": func(r *waybill.Request) { r.Delay = time.Hour },
			"at":      func(r *waybill.Request) { r.At = due },
			"both":    func(r *waybill.Request) { r.At, r.Delay = due, 5*time.Hour },
			"past":    func(r *waybill.Request) { r.At = time.UnixMilli(1000) },
		} {
			r := request(id)
			change(&r)
			s.enter(r)
		}
		entered := time.Now().Add(5 * time.Millisecond)
		s.relay()
		until(t, "all are sent", func() bool { return s.inState("sent") == 6 })
		get := func(id string) waybill.JobInfo {
			j, err := s.c.Queue("q").Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return j
		}
		between := func(what string, at, from, to time.Time) {
			t.Helper()
			if at.Before(from) || at.After(to) {
				t.Errorf("%s: %s, not from %s to %s", what, at, from, to)
			}
		}
		j := get("full")
		if j.Priority != 7 || !j.LIFO || j.MaxFailures != 3 || j.Retention != time.Hour || j.Version != 5 || j.Headers["tenant"] != "näme" {
			t.Errorf("%+v", j)
		}
		between("a plain job is born when its row is entered", get("plain").BornAt, began, entered)
		between("a delayed one when it is due", get("delayed").BornAt, began.Add(time.Hour), entered.Add(time.Hour))
		between("and is due then", get("delayed").DueAt, began.Add(time.Hour), entered.Add(time.Hour))
		for _, id := range []string{"at", "both"} {
			if j := get(id); !j.DueAt.Equal(due) || !j.BornAt.Equal(due) {
				t.Errorf("%s: due %s, born %s, not %s", id, j.DueAt, j.BornAt, due)
			}
		}
		if j := get("past"); j.State != waybill.StateReady {
			t.Errorf("a job that was due before it was entered is %s", j.State)
		}
	})
}

func TestOutbox_Use(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		refusal := errors.New("not this one")
		s.box.Use(func(next waybill.Enqueuer) waybill.Enqueuer {
			return func(ctx context.Context, r []waybill.Request) []waybill.Enqueued {
				for i := range r {
					r[i].SetHeader("trace", "17")
				}
				if r[0].ID == "refused" {
					return []waybill.Enqueued{{Err: refusal}}
				}
				if r[0].ID == "twice" {
					next(ctx, r)
				}
				return next(ctx, r)
			}
		})
		s.enter(request("a"))
		if err := s.in(func(tx *sql.Tx) error {
			if err := s.box.Enqueue(t.Context(), tx, request("refused")); !errors.Is(err, refusal) {
				t.Errorf("refused: %v", err)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if out, err := s.many(request("twice")); err != nil || outcomes(out) != "duplicate" {
			t.Errorf("entered twice: %v, %v", out, err)
		}
		s.relay()
		until(t, "both are sent", func() bool { return s.inState("sent") == 2 })
		if j, err := s.c.Queue("q").Get(t.Context(), "a"); err != nil || j.Headers["trace"] != "17" {
			t.Errorf("%v, %v", j.Headers, err)
		}
	})
}

func TestOutbox_Enqueue_noTable(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		db := d.Open(t)
		box, err := outbox.New(db, d.Dialect, outbox.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := box.Enqueue(t.Context(), tx, request("a")); !errors.Is(err, outbox.ErrNoTable) {
			t.Errorf("enqueue: %v", err)
		}
		if err := tx.Commit(); !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("after an error of the database the transaction is over, and committing says %v", err)
		}
		if _, err := box.Stats(t.Context()); !errors.Is(err, outbox.ErrNoTable) {
			t.Errorf("stats: %v", err)
		}
		if _, err := box.Purge(t.Context(), 0, nil); !errors.Is(err, outbox.ErrNoTable) {
			t.Errorf("purge: %v", err)
		}
	})
}
