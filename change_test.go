package waybill_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// fill adds n plain jobs.
func (s *shelf) fill(kind string, n int) {
	s.t.Helper()
	for i := range n {
		s.add(kind, fmt.Sprintf("%s-%03d", kind, i))
	}
}

// kill makes the next n jobs dead.
func (s *shelf) kill(n int, message string) {
	s.t.Helper()
	for range n {
		s.end(store.Dead, message)
	}
}

func wantResult(t *testing.T, got waybill.BulkResult, matched, changed, refused int64) {
	t.Helper()
	if got.Matched != matched || got.Changed != changed || got.Refused != refused {
		t.Errorf("%+v: want %d matched, %d changed, %d refused", got, matched, changed, refused)
	}
}

func (s *shelf) stats() waybill.QueueStats {
	s.t.Helper()
	got, err := s.q.Stats(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func TestQueue_RequeueAll(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	t.Run("takes what the filter takes, in bounded steps, and tells how far it is", func(t *testing.T) {
		t.Parallel()
		s := newShelf(t)
		s.fill("a", 230)
		s.fill("b", 20)
		s.kill(230, "no host")
		s.kill(20, "no luck")
		var told []waybill.BulkResult
		got, err := s.q.RequeueAll(ctx, waybill.Filter{Kind: "a"}, waybill.BulkOptions{
			Progress: func(r waybill.BulkResult) { told = append(told, r) },
		})
		if err != nil {
			t.Fatal(err)
		}
		wantResult(t, got, 230, 230, 0)
		if st := s.stats(); st.Ready != 230 || st.Dead != 20 || got.Looked != 250 {
			t.Errorf("%d ready, %d dead, %d looked at", st.Ready, st.Dead, got.Looked)
		}
		if len(told) < 3 || told[len(told)-1] != got {
			t.Errorf("told %v", told)
		}
		got, err = s.q.RequeueAll(ctx, waybill.Filter{ErrorContains: "luck"}, waybill.BulkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantResult(t, got, 20, 20, 0)
	})
	t.Run("a dry run counts and changes nothing", func(t *testing.T) {
		t.Parallel()
		s := newShelf(t)
		s.fill("a", 5)
		s.kill(5, "")
		got, err := s.q.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{DryRun: true})
		if err != nil || s.stats().Dead != 5 {
			t.Fatalf("%v, %d dead", err, s.stats().Dead)
		}
		wantResult(t, got, 5, 0, 0)
	})
	t.Run("a full queue ends it, and what is left goes later", func(t *testing.T) {
		t.Parallel()
		s := newShelf(t)
		s.fill("a", 10)
		s.kill(10, "")
		if err := s.q.Set(ctx, waybill.QueueSettings{Capacity: ptr(int64(4))}); err != nil {
			t.Fatal(err)
		}
		got, err := s.q.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{})
		if !errors.Is(err, waybill.ErrFull) {
			t.Errorf("%v: want ErrFull", err)
		}
		wantResult(t, got, 10, 4, 0)
		if err := s.q.Set(ctx, waybill.QueueSettings{Capacity: ptr(int64(waybill.Unlimited))}); err != nil {
			t.Fatal(err)
		}
		got, err = s.q.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantResult(t, got, 6, 6, 0)
	})
	t.Run("jobs that die again meanwhile are left", func(t *testing.T) {
		t.Parallel()
		s := newShelf(t)
		s.fill("a", 150)
		s.kill(150, "")
		got, err := s.q.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{Progress: func(waybill.BulkResult) {
			for s.stats().Ready > 0 {
				s.kill(1, "again")
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		wantResult(t, got, 150, 150, 0)
	})
	t.Run("one that is stopped goes on where it was", func(t *testing.T) {
		t.Parallel()
		s := newShelf(t)
		s.fill("a", 150)
		s.kill(150, "")
		stopping, stop := context.WithCancel(ctx)
		first, err := s.q.RequeueAll(stopping, waybill.Filter{}, waybill.BulkOptions{Progress: func(waybill.BulkResult) { stop() }})
		if !errors.Is(err, context.Canceled) || first.Changed == 0 || first.Changed == 150 {
			t.Fatalf("%+v, %v", first, err)
		}
		second, err := s.q.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{})
		if err != nil || first.Changed+second.Changed != 150 || s.stats().Requeued != 150 {
			t.Errorf("%+v, then %+v, %v", first, second, err)
		}
	})
}

func TestQueue_RequeueAll_Elsewhere(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newShelf(t)
	s.fill("a", 120)
	s.kill(120, "")
	there := newClient(t, s.rdb, s.prefix).Queue("spare")
	// A job whose move was interrupted after the enqueue, and an ID that is another's there.
	s.addTo("spare", "a", "a-000")
	s.addTo("spare", "other", "a-001")
	got, err := s.q.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{To: "spare"})
	if err != nil {
		t.Fatal(err)
	}
	wantResult(t, got, 120, 119, 1)
	if !errors.Is(got.Why, waybill.ErrConflict) {
		t.Errorf("refused for %v", got.Why)
	}
	st, err := there.Stats(ctx)
	if err != nil || st.Ready != 120 || s.stats().Dead != 1 {
		t.Errorf("%d there, %d dead here, %v", st.Ready, s.stats().Dead, err)
	}
	if j, err := there.Get(ctx, "a-007"); err != nil || j.Kind != "a" || string(j.Payload) != "1" || j.Retention != time.Hour {
		t.Errorf("%+v, %v", j, err)
	}
}

// addTo enqueues a plain job into another queue.
func (s *shelf) addTo(queue, kind, id string) {
	s.t.Helper()
	_, err := newClient(s.t, s.rdb, s.prefix).Enqueue(s.t.Context(), waybill.Request{
		Queue: queue, Kind: kind, ID: id, Payload: []byte("1"), Retention: time.Hour,
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestQueue_ChangeAll(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	t.Run("promote makes what waits for a time ready", func(t *testing.T) {
		t.Parallel()
		s := newShelf(t)
		s.add("a", "1", "2", "3")
		s.end(store.Retry, "no")
		s.end(store.Retry, "no")
		got, err := s.q.PromoteAll(ctx, waybill.Filter{}, waybill.BulkOptions{})
		if err != nil || s.stats().Ready != 3 {
			t.Fatalf("%v, %d ready", err, s.stats().Ready)
		}
		wantResult(t, got, 2, 2, 0)
	})
	t.Run("cancel ends what waits and asks what runs", func(t *testing.T) {
		t.Parallel()
		s := newShelf(t)
		s.add("a", "1", "2", "3")
		s.end("", "")
		got, err := s.q.CancelAll(ctx, waybill.Filter{}, "not wanted", waybill.BulkOptions{})
		if err != nil || s.stats().Cancelled != 2 {
			t.Fatalf("%v, %d cancelled", err, s.stats().Cancelled)
		}
		wantResult(t, got, 3, 3, 0)
		if j, err := s.q.Get(ctx, "1"); err != nil || !j.CancelRequested || j.Reason != "not wanted" {
			t.Errorf("%+v, %v", j, err)
		}
	})
	t.Run("delete leaves what runs, unless forced", func(t *testing.T) {
		t.Parallel()
		s := newShelf(t)
		s.add("a", "1", "2", "3", "4")
		s.end("", "")
		s.end(store.Complete, "")
		s.end(store.Dead, "")
		got, err := s.q.DeleteAll(ctx, waybill.Filter{}, waybill.DeleteOptions{}, waybill.BulkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantResult(t, got, 3, 3, 0)
		got, err = s.q.DeleteAll(ctx, waybill.Filter{}, waybill.DeleteOptions{Force: true}, waybill.BulkOptions{})
		if err != nil || s.stats().Live() != 0 {
			t.Fatalf("%v, %d live", err, s.stats().Live())
		}
		wantResult(t, got, 1, 1, 0)
	})
	t.Run("purge empties one state", func(t *testing.T) {
		t.Parallel()
		s := newShelf(t)
		s.fill("a", 250)
		s.kill(10, "")
		s.end(store.Complete, "")
		for state, n := range map[waybill.State]int64{waybill.StateReady: 239, waybill.StateDead: 10, waybill.StateCompleted: 1} {
			got, err := s.q.Purge(ctx, state, waybill.BulkOptions{DryRun: true})
			if err != nil {
				t.Fatal(err)
			}
			wantResult(t, got, n, 0, 0)
			got, err = s.q.Purge(ctx, state, waybill.BulkOptions{})
			if err != nil {
				t.Fatal(err)
			}
			wantResult(t, got, n, n, 0)
		}
		if st := s.stats(); st.Ready+st.Dead+st.Kept != 0 {
			t.Errorf("left: %+v", st)
		}
	})
	t.Run("a rate is kept", func(t *testing.T) {
		t.Parallel()
		s := newShelf(t)
		s.fill("a", 60)
		began := time.Now()
		got, err := s.q.CancelAll(ctx, waybill.Filter{}, "", waybill.BulkOptions{Rate: 200})
		if err != nil {
			t.Fatal(err)
		}
		wantResult(t, got, 60, 60, 0)
		if took := time.Since(began); took < 290*time.Millisecond {
			t.Errorf("60 jobs at 200 a second took %s", took)
		}
	})
	t.Run("a filter that can't hold is refused before anything is sent", func(t *testing.T) {
		t.Parallel()
		s := newShelf(t)
		for what, err := range map[string]error{
			"a state of another verb": second(s.q.RequeueAll(ctx, waybill.Filter{States: []waybill.State{waybill.StateReady}}, waybill.BulkOptions{})),
			"a rate below 0":          second(s.q.PromoteAll(ctx, waybill.Filter{}, waybill.BulkOptions{Rate: -1})),
			"a reason of two lines":   second(s.q.CancelAll(ctx, waybill.Filter{}, "a\nb", waybill.BulkOptions{})),
			"no queue's name":         second(s.q.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{To: "no name"})),
			"the queue they are in":   second(s.q.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{To: "mail"})),
			"what runs":               second(s.q.Purge(ctx, waybill.StateActive, waybill.BulkOptions{})),
		} {
			if !errors.Is(err, waybill.ErrInvalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestQueue_Audit(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newShelf(t)
	s.fill("a", 150)
	audit := func(repair bool) (found []waybill.Finding, looked int64) {
		t.Helper()
		err := s.q.Audit(ctx, repair, func(f waybill.Finding) { found = append(found, f) }, func(n int64) { looked = n })
		if err != nil {
			t.Fatal(err)
		}
		return found, looked
	}
	if found, looked := audit(false); found != nil || looked < 300 {
		t.Fatalf("a sound queue: %v, %d looked at", found, looked)
	}
	s.add("b", "due")
	s.end(store.Retry, "no")
	if err := s.rdb.Del(ctx, s.prefix+":{mail}:retry").Err(); err != nil { // Redis loses an index
		t.Fatal(err)
	}
	for _, repair := range []bool{false, true} {
		found, _ := audit(repair)
		if len(found) != 1 || found[0] != (waybill.Finding{What: "unindexed", Item: "a-000", Repaired: repair}) {
			t.Errorf("repair %v: %+v", repair, found)
		}
	}
	if found, _ := audit(false); found != nil || s.stats().Ready != 151 {
		t.Errorf("after the repair: %v, %d ready", found, s.stats().Ready)
	}
}
