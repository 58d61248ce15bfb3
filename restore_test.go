package waybill_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// exported are all jobs of the queue, each whole, as they come out of JSON.
func (s *shelf) exported() (all []waybill.JobInfo) {
	s.t.Helper()
	for j, err := range s.q.Jobs(s.t.Context(), waybill.Filter{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		whole, err := s.q.Get(s.t.Context(), j.ID)
		if err != nil {
			s.t.Fatal(err)
		}
		b, err := json.Marshal(whole)
		if err != nil {
			s.t.Fatal(err)
		}
		var read waybill.JobInfo
		if err := json.Unmarshal(b, &read); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, read)
	}
	return all
}

func TestQueue_Restore(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.add("k", "dead", "retry", "done", "active", "ready-1", "ready-2")
	s.end(store.Dead, "no such user")
	s.end(store.Retry, "no host")
	s.end(store.Complete, "")
	s.end("", "")
	s.addLater("later", time.Hour)
	before := s.exported()
	if len(before) != 7 {
		t.Fatalf("%d jobs are exported", len(before))
	}
	rdb, prefix := redistest.Shared(t)
	c := newClient(t, rdb, prefix)
	q := c.Queue("mail")
	said, err := q.Restore(t.Context(), before)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range said {
		if e.Outcome != waybill.OutcomeAccepted || e.ID != before[i].ID {
			t.Errorf("%+v", e)
		}
	}
	t.Run("states, counts, errors and times are as before", func(t *testing.T) {
		for _, was := range before {
			is, err := q.Get(t.Context(), was.ID)
			if err != nil {
				t.Fatalf("%s: %v", was.ID, err)
			}
			if was.State == waybill.StateCompleted {
				if is.State != waybill.StateCompleted || is.Known {
					t.Errorf("%+v", is)
				}
				continue
			}
			want := was
			if was.State == waybill.StateActive {
				want.State = waybill.StateReady
			}
			same := cmpopts.IgnoreFields(waybill.JobInfo{}, "At", "Token", "Worker", "StartedAt", "LeaseEndsAt", "DueAt", "Headers")
			if d := cmp.Diff(want, is, same, cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(time.Millisecond)); d != "" {
				t.Errorf("%s (-before +after):\n%s", was.ID, d)
			}
		}
	})
	t.Run("a second time adds nothing, and so does a late enqueue of what had ended", func(t *testing.T) {
		said, err := q.Restore(t.Context(), before)
		if err != nil || slices.ContainsFunc(said, func(e waybill.Enqueued) bool { return e.Outcome != waybill.OutcomeDuplicate }) {
			t.Errorf("%+v, %v", said, err)
		}
		e, err := c.Enqueue(t.Context(), waybill.Request{Queue: "mail", Kind: "k", ID: "done", Payload: []byte("1")})
		if err != nil || e.Outcome != waybill.OutcomeDuplicate {
			t.Errorf("%+v, %v", e, err)
		}
	})
	t.Run("the account adds up, and the audit finds nothing", func(t *testing.T) {
		st := stats(t, c, "mail")
		if st.Accepted != 6 || st.Died != 1 || st.Ready != 3 || st.Retry != 1 || st.Scheduled != 1 || st.Accepted != st.Died+st.Live() {
			t.Errorf("%+v", st)
		}
		if err := q.Audit(t.Context(), false, func(f waybill.Finding) { t.Errorf("%+v", f) }, nil); err != nil {
			t.Error(err)
		}
	})
	t.Run("a dead one can be requeued and runs with its failures from zero", func(t *testing.T) {
		if err := q.Requeue(t.Context(), "dead"); err != nil {
			t.Fatal(err)
		}
		if j, err := q.Get(t.Context(), "dead"); err != nil || j.State != waybill.StateReady || j.Failures != 0 || j.Attempt != 1 {
			t.Errorf("%+v, %v", j, err)
		}
	})
	t.Run("what can't come back is refused one by one", func(t *testing.T) {
		said, err := q.Restore(t.Context(), []waybill.JobInfo{
			{ID: "x", State: waybill.StateDeleted, Known: true, Kind: "k"},
			{ID: "y", State: waybill.StateCompleted},
			{ID: "no id", State: waybill.StateReady, Known: true, Kind: "k"},
			{ID: "z", State: waybill.StateReady, Known: true, Kind: "k"},
		})
		var some *waybill.BulkError
		var words []waybill.Outcome
		for _, e := range said {
			words = append(words, e.Outcome)
		}
		if !errors.As(err, &some) || !errors.Is(err, waybill.ErrInvalid) ||
			fmt.Sprint(words) != "[invalid invalid invalid accepted]" {
			t.Errorf("%v, %v", said, err)
		}
	})
}

// addLater enqueues a plain job that is due later.
func (s *shelf) addLater(id string, d time.Duration) {
	s.t.Helper()
	_, err := newClient(s.t, s.rdb, s.prefix).Enqueue(s.t.Context(), waybill.Request{
		Queue: "mail", Kind: "k", ID: id, Payload: []byte("1"), Delay: d, Retention: time.Hour,
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
