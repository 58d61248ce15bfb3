package waybill_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// shelf is a queue with jobs in many states, whose attempts the test ends by hand.
type shelf struct {
	t      *testing.T
	rdb    *redis.Client
	prefix string
	q      *waybill.Queue
	jobs   *store.Queue
	claim  int64
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	rdb, prefix := redistest.Shared(t)
	s, err := store.New(rdb, store.Options{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := s.Queue("mail")
	if err != nil {
		t.Fatal(err)
	}
	return &shelf{t: t, rdb: rdb, prefix: prefix, q: newClient(t, rdb, prefix).Queue("mail"), jobs: jobs}
}

// add enqueues plain jobs of a kind.
func (s *shelf) add(kind string, ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		a := store.Add{ID: id, Job: record.Job{Kind: kind, Payload: []byte("1"), Named: true, Retention: time.Hour}}
		if got := s.jobs.Enqueue(s.t.Context(), []store.Add{a}, false); got[0].Err != nil {
			s.t.Fatal(got[0].Err)
		}
	}
}

// end claims the next job and ends its attempt; with "" it stays active.
func (s *shelf) end(as store.End, message string) {
	s.t.Helper()
	s.claim++
	got, err := s.jobs.Claim(s.t.Context(), store.Claim{Worker: "Ann", Number: s.claim, Most: 1, Lease: time.Hour})
	if err != nil || len(got.Jobs) != 1 {
		s.t.Fatalf("claim %v: %v", got, err)
	}
	if as == "" {
		return
	}
	rec, err := record.Parse(got.Jobs[0].Record)
	if err != nil {
		s.t.Fatal(err)
	}
	it := store.Settlement{
		Member: got.Jobs[0].Member(), Keep: rec.Keep, End: as, Delay: time.Hour, Retention: time.Hour, Result: []byte("r"),
		Line: store.Error{Attempt: 1, Type: "failure", Message: message}.Line(),
	}
	if v, err := s.jobs.Settle(s.t.Context(), []store.Settlement{it}); err != nil || v[0] != store.Done {
		s.t.Fatalf("settle %v: %v", v, err)
	}
}

// walked are the IDs that a filter lets through, in order.
func (s *shelf) walked(f waybill.Filter) string {
	s.t.Helper()
	var ids []string
	for j, err := range s.q.Jobs(s.t.Context(), f) {
		if err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, j.ID)
	}
	return strings.Join(ids, " ")
}

func (s *shelf) want(f waybill.Filter, want string) {
	s.t.Helper()
	if got := s.walked(f); got != want {
		s.t.Errorf("%+v gives %q, want %q", f, got, want)
	}
}

// stocked has a job in most states.
func stocked(t *testing.T) *shelf {
	t.Helper()
	s := newShelf(t)
	s.add("k", "retry", "dead", "done", "off", "active")
	s.end(store.Retry, "no route")
	s.end(store.Dead, "no such user")
	s.end(store.Complete, "")
	s.end(store.Cancel, "")
	s.end("", "")
	s.add("k", "r1")
	s.add("other", "r2")
	return s
}

func TestQueue_Jobs(t *testing.T) {
	t.Parallel()
	s := stocked(t)
	t.Run("without a filter gives every job that can be listed, state by state", func(t *testing.T) {
		s.want(waybill.Filter{}, "r1 r2 retry active dead done off")
	})
	t.Run("by state, completed and cancelled told apart", func(t *testing.T) {
		s.want(waybill.Filter{States: []waybill.State{waybill.StateCancelled, waybill.StateReady}}, "r1 r2 off")
		s.want(waybill.Filter{States: []waybill.State{waybill.StateCompleted}}, "done")
		s.want(waybill.Filter{States: []waybill.State{}}, "")
	})
	t.Run("by kind", func(t *testing.T) { s.want(waybill.Filter{Kind: "other"}, "r2") })
	t.Run("by a part of an error's message, and then errors and result are there", func(t *testing.T) {
		s.want(waybill.Filter{ErrorContains: "no "}, "retry dead")
		for j, err := range s.q.Jobs(t.Context(), waybill.Filter{ErrorContains: "such"}) {
			if err != nil || j.ID != "dead" || len(j.Errors) != 1 || j.State != waybill.StateDead {
				t.Errorf("%+v, %v", j, err)
			}
		}
	})
	t.Run("by age since the enqueue", func(t *testing.T) {
		s.want(waybill.Filter{OlderThan: time.Hour}, "")
		s.want(waybill.Filter{OlderThan: time.Millisecond, Kind: "k", States: []waybill.State{waybill.StateDead}}, "dead")
	})
	t.Run("stops where the caller stops", func(t *testing.T) {
		for j, err := range s.q.Jobs(t.Context(), waybill.Filter{}) {
			if err != nil || j.ID != "r1" {
				t.Fatalf("went on to %s", j.ID)
			}
			break
		}
	})
	t.Run("more jobs than a page", func(t *testing.T) {
		t.Parallel()
		many := newShelf(t)
		ids := make([]string, 250)
		for i := range ids {
			ids[i] = "j" + strings.Repeat("x", i%125) + string(rune('a'+i/125))
		}
		many.add("k", ids...)
		many.want(waybill.Filter{}, strings.Join(ids, " "))
	})
}

func TestQueue_JobsErrors(t *testing.T) {
	t.Parallel()
	t.Run("a state that can't be listed is invalid", func(t *testing.T) {
		t.Parallel()
		for _, state := range []waybill.State{waybill.StateDeleted, "ended"} {
			for j, err := range newShelf(t).q.Jobs(t.Context(), waybill.Filter{States: []waybill.State{state}}) {
				if !errors.Is(err, waybill.ErrInvalid) {
					t.Errorf("%s: %+v, %v", state, j, err)
				}
			}
		}
	})
	t.Run("a record of a newer format is told with its ID, and the walk goes on", func(t *testing.T) {
		t.Parallel()
		s := newShelf(t)
		s.add("k", "a", "b", "c")
		if err := s.rdb.SetRange(t.Context(), s.prefix+":{mail}:job:b", 0, "2").Err(); err != nil {
			t.Fatal(err)
		}
		var seen []string
		for j, err := range s.q.Jobs(t.Context(), waybill.Filter{}) {
			if errors.Is(err, waybill.ErrNewer) {
				j.ID += " is newer"
			}
			seen = append(seen, j.ID)
		}
		if want := []string{"a", "b is newer", "c"}; !slices.Equal(seen, want) {
			t.Errorf("%q, want %q", seen, want)
		}
	})
	t.Run("a lost connection ends the walk", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		q := newClient(t, server.Client(), "").Queue("mail")
		server.Kill()
		errs := 0
		for _, err := range q.Jobs(t.Context(), waybill.Filter{}) {
			if errs++; !errors.Is(err, waybill.ErrUnavailable) {
				t.Errorf("error is %v", err)
			}
		}
		if errs != 1 {
			t.Errorf("%d errors", errs)
		}
	})
}
