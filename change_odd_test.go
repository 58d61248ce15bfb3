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

// beside is the shelf of another queue.
func (s *shelf) beside(queue string) *shelf {
	s.t.Helper()
	all, err := store.New(s.rdb, store.Options{Prefix: s.prefix})
	if err != nil {
		s.t.Fatal(err)
	}
	jobs, err := all.Queue(queue)
	if err != nil {
		s.t.Fatal(err)
	}
	return &shelf{t: s.t, rdb: s.rdb, prefix: s.prefix, q: newClient(s.t, s.rdb, s.prefix).Queue(queue), jobs: jobs}
}

func TestQueue_RequeueAll_ThereAndBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	t.Run("a job that dies there too can be moved back", func(t *testing.T) {
		t.Parallel()
		here := newShelf(t)
		there := here.beside("spare")
		here.add("k", "a")
		here.kill(1, "no host")
		for range 2 {
			got, err := here.q.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{To: "spare"})
			if err != nil {
				t.Fatal(err)
			}
			wantResult(t, got, 1, 1, 0)
			if st := there.stats(); st.Ready != 1 || here.stats().Dead != 0 {
				t.Fatalf("%d ready in %s, %d dead in %s", st.Ready, st.Queue, here.stats().Dead, here.stats().Queue)
			}
			there.kill(1, "no host")
			got, err = there.q.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{To: "mail"})
			if err != nil {
				t.Fatal(err)
			}
			wantResult(t, got, 1, 1, 0)
			if st := here.stats(); st.Ready != 1 || there.stats().Dead != 0 {
				t.Fatalf("%d ready in %s, %d dead in spare: the job is lost", st.Ready, st.Queue, there.stats().Dead)
			}
			here.kill(1, "no host")
		}
	})
	t.Run("a job that is dead there stays here", func(t *testing.T) {
		t.Parallel()
		here := newShelf(t)
		there := here.beside("spare")
		here.add("k", "a")
		here.kill(1, "no host")
		there.add("k", "a")
		there.kill(1, "no host")
		got, err := here.q.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{To: "spare"})
		if err != nil {
			t.Fatal(err)
		}
		wantResult(t, got, 1, 0, 1)
		if !errors.Is(got.Why, waybill.ErrState) || here.stats().Dead != 1 {
			t.Errorf("%d dead here, refused for %v", here.stats().Dead, got.Why)
		}
	})
	t.Run("where it is full there, what was taken is here no more", func(t *testing.T) {
		t.Parallel()
		here := newShelf(t)
		there := here.beside("spare")
		here.fill("k", 20)
		here.kill(20, "")
		room := int64(7)
		if err := there.q.Set(ctx, waybill.QueueSettings{Capacity: &room}); err != nil {
			t.Fatal(err)
		}
		got, err := here.q.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{To: "spare"})
		if !errors.Is(err, waybill.ErrFull) || got.Changed != 7 {
			t.Errorf("%+v, %v", got, err)
		}
		if st := there.stats(); st.Ready != 7 || here.stats().Dead != 13 {
			t.Errorf("%d ready there, %d dead here", st.Ready, here.stats().Dead)
		}
	})
}

func TestQueue_CancelAll_Ends(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.fill("old", 150)
	steps := 0
	got, err := s.q.CancelAll(t.Context(), waybill.Filter{Kind: "old"}, "", waybill.BulkOptions{Progress: func(waybill.BulkResult) {
		if steps++; steps > 400 {
			t.Fatal("it follows those that come meanwhile, for ever")
		}
		adds := make([]waybill.Request, 120)
		for i := range adds {
			adds[i] = waybill.Request{Queue: "mail", Kind: "new", ID: fmt.Sprintf("new-%d-%d", steps, i)}
		}
		if _, err := newClient(t, s.rdb, s.prefix).EnqueueMany(t.Context(), adds); err != nil {
			t.Fatal(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantResult(t, got, 150, 150, 0)
}

func TestBulkOptions_Rate(t *testing.T) {
	t.Parallel()
	t.Run("a rate of next to nothing is no rate without bound", func(t *testing.T) {
		t.Parallel()
		s := newShelf(t)
		s.fill("k", 5)
		s.kill(5, "")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		got, err := s.q.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{Rate: 1e-10})
		if err == nil || got.Changed != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
