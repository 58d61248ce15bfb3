package outbox_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

// set changes rows of queue q by hand.
func (s *stand) set(what, id string) {
	s.t.Helper()
	if _, err := s.db.ExecContext(s.t.Context(), "UPDATE waybill_outbox SET "+what+" WHERE id = '"+id+"'"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stand) row(id string) outbox.Row {
	s.t.Helper()
	r, err := s.box.Row(s.t.Context(), "q", id)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func TestOutbox_Row(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		full := waybill.Request{
			Queue: "q", Kind: "k", ID: "full", Payload: []byte("p\x00\xff"), Headers: map[string]string{"tenant": "7"}, Priority: 5,
			LIFO: true, Delay: time.Hour, MaxFailures: 3, Retention: time.Minute, Version: 2, OnFull: waybill.FullSpill,
		}
		err := s.in(func(tx *sql.Tx) error { return s.box.EnqueueInOrder(t.Context(), tx, "customer-1", full) })
		if err != nil {
			t.Fatal(err)
		}
		s.enter(request("plain"), request("broken"), request("json"))
		t.Run("a row gives all that was entered", func(t *testing.T) {
			r := s.row("full")
			if r.Key != "customer-1" || r.State != outbox.RowNew || r.Unusable != nil || !r.EndedAt.IsZero() || r.Seq == 0 {
				t.Errorf("%+v", r)
			}
			if r.DueAt.Sub(r.EnteredAt).Round(time.Minute) != time.Hour || !r.Request.At.Equal(r.DueAt) {
				t.Errorf("entered %s, due %s, at %s", r.EnteredAt, r.DueAt, r.Request.At)
			}
			want := full
			want.Delay, want.At = 0, r.DueAt
			if diff := cmp.Diff(want, r.Request, cmpopts.IgnoreUnexported(want)); diff != "" {
				t.Error(diff)
			}
		})
		t.Run("without a delay a job is due when its row was entered", func(t *testing.T) {
			r := s.row("plain")
			if !r.DueAt.Equal(r.EnteredAt) || !r.Request.At.IsZero() || r.Request.OnFull != waybill.FullWait || r.Key != "" {
				t.Errorf("%+v", r)
			}
		})
		t.Run("both times of a row are one reading of the clock", func(t *testing.T) {
			many := requests(100) // a clock that goes on meanwhile shows in some of them
			for i := range many {
				many[i].ID = "many-" + many[i].ID
			}
			s.enter(many...)
			for _, m := range many {
				if r := s.row(m.ID); !r.DueAt.Equal(r.EnteredAt) {
					t.Errorf("%s: due %s, entered %s", m.ID, r.DueAt, r.EnteredAt)
				}
			}
		})
		t.Run("each state has a word", func(t *testing.T) {
			for state, want := range map[string]outbox.RowState{
				"0": outbox.RowNew, "1": outbox.RowSent, "2": outbox.RowAcked, "3": outbox.RowDead, "4": outbox.RowDeleted, "5": outbox.RowSetAside,
			} {
				s.set("ended_ms = 1000, reason = 'why', state = "+state, "plain")
				if r := s.row("plain"); r.State != want || r.EndedAt.UnixMilli() != 1000 || r.Reason != "why" {
					t.Errorf("state %s: %+v", state, r)
				}
			}
		})
		t.Run("a body that can't be read is given as it is, and why", func(t *testing.T) {
			s.set("body = 'z'", "broken")
			r := s.row("broken")
			if r.Unusable == nil || string(r.Body) != "z" || r.Request.ID != "broken" || r.Request.Kind != "" {
				t.Errorf("%+v", r)
			}
		})
		t.Run("a body of another language's is read, with its delay and its limits", func(t *testing.T) {
			s.set(`body = '{"kind":"k","payload":{"n":1},"delay_ms":60000,"priority":5000}'`, "json")
			r := s.row("json")
			if r.DueAt.Sub(r.EnteredAt) != time.Minute || r.Request.Kind != "k" || string(r.Request.Payload) != `{"n":1}` {
				t.Errorf("%+v", r)
			}
			if r.Unusable == nil || !strings.Contains(r.Unusable.Error(), "priority") {
				t.Errorf("unusable: %v", r.Unusable)
			}
		})
		t.Run("what is not there is not found", func(t *testing.T) {
			for _, at := range [][2]string{{"q", "other"}, {"r", "full"}} {
				if _, err := s.box.Row(t.Context(), at[0], at[1]); !errors.Is(err, outbox.ErrNotFound) || !strings.Contains(err.Error(), at[1]) {
					t.Errorf("%q: %v", at, err)
				}
			}
			for field, at := range map[string][2]string{"queue": {"", "full"}, "id": {"q", "a\x00"}} {
				if _, err := s.box.Row(t.Context(), at[0], at[1]); !errors.Is(err, outbox.ErrInvalid) || !strings.HasPrefix(err.Error(), field) {
					t.Errorf("%q: %v", at, err)
				}
			}
		})
	})
}

func TestOutbox_Discard(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		s.enter(requests(10)...)
		other := request("job-6")
		other.Queue = "r"
		s.enter(other)
		for i, id := range []string{"job-0", "job-1", "job-2", "job-3", "job-4"} {
			s.set("state = "+string(rune('0'+i)), id)
		}
		for _, id := range []string{"job-5", "job-6", "job-7"} { // job-6 in both queues
			s.set("state = 5", id)
		}
		discard := func(want int64, queue, id string) {
			t.Helper()
			if n, err := s.box.Discard(t.Context(), queue, id); n != want || err != nil {
				t.Errorf("discard %q %q: %d rows, %v, want %d", queue, id, n, err, want)
			}
		}
		for _, id := range []string{"job-0", "job-1", "job-2", "job-3", "job-4"} {
			discard(0, "q", id)
		}
		discard(1, "q", "job-6")
		discard(2, "q", "")
		discard(1, "", "")
		if r := s.rows(); r.New != 3 || r.Sent != 1 || r.Dead != 1 || r.Ended != 2 || r.SetAside != 0 {
			t.Errorf("left are %+v", r)
		}
		if _, err := s.box.Row(t.Context(), "q", "job-6"); !errors.Is(err, outbox.ErrNotFound) {
			t.Errorf("a row that was discarded: %v", err)
		}
	})
}
