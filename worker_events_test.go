package waybill_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// watcher keeps what an observer is told.
type watcher struct {
	mu     sync.Mutex
	events []waybill.Event
}

func (w *watcher) observe(e waybill.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// of gives the events of a type about a job, or about no job.
func (w *watcher) of(which waybill.EventType, id string) []waybill.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []waybill.Event
	for _, e := range w.events {
		if e.Type == which && e.ID == id {
			out = append(out, e)
		}
	}
	return out
}

func TestWorker_Observe(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		h    ends
		want waybill.AttemptOutcome
	}{
		"completed": {func(context.Context, *waybill.Job[number]) error { return nil }, waybill.AttemptCompleted},
		"retry":     {func(context.Context, *waybill.Job[number]) error { return boom }, waybill.AttemptRetry},
		"snoozed":   {func(context.Context, *waybill.Job[number]) error { return waybill.Snooze(time.Hour) }, waybill.AttemptSnoozed},
		"dead":      {func(context.Context, *waybill.Job[number]) error { return waybill.Dead(boom) }, waybill.AttemptDead},
		"cancelled": {func(context.Context, *waybill.Job[number]) error { return waybill.Cancel("no") }, waybill.AttemptCancelled},
	} {
		t.Run(name+" is told", func(t *testing.T) {
			t.Parallel()
			c, seen := shared(t), &watcher{}
			w := newWorker(t, c, waybill.WorkerOptions{Observe: seen.observe, Retry: waybill.Fixed(time.Hour)})
			waybill.Define[number]("k", waybill.KindOptions{Retry: waybill.Fixed(time.Hour)}).Handle(w, tc.h)
			start(t, w)
			_, err := waybill.Define[number]("k", waybill.KindOptions{}).Enqueue(t.Context(), c, number{1}, waybill.ID("x"))
			if err != nil {
				t.Fatal(err)
			}
			until(t, "the end is told", func() bool { return len(seen.of(waybill.EventEnded, "x")) == 1 })
			e := seen.of(waybill.EventEnded, "x")[0]
			if e.Outcome != tc.want || !e.Recorded || e.Queue != "default" || e.Kind != "k" || e.Attempt != 1 || e.At.IsZero() {
				t.Errorf("%+v", e)
			}
			if begun := seen.of(waybill.EventStarted, "x"); len(begun) != 1 || begun[0].Waited < 0 || begun[0].Waited > time.Minute {
				t.Errorf("%+v", begun)
			}
		})
	}
	t.Run("a lost lease and the end that changed nothing are told", func(t *testing.T) {
		t.Parallel()
		c, seen := shared(t), &watcher{}
		w := newWorker(t, c, waybill.WorkerOptions{Observe: seen.observe, Lease: 300 * time.Millisecond})
		kind := waybill.Define[number]("k", waybill.KindOptions{})
		kind.Handle(w, func(ctx context.Context, job *waybill.Job[number]) error {
			<-ctx.Done()
			if err := job.Progress(context.WithoutCancel(ctx), 50, "late"); !errors.Is(err, waybill.ErrLeaseLost) {
				t.Errorf("progress: %v", err)
			}
			return nil
		})
		start(t, w)
		_, _ = kind.Enqueue(t.Context(), c, number{1}, waybill.ID("x"))
		await(t, c, "default", "x", waybill.StateActive)
		if err := c.Queue("").Delete(t.Context(), "x", waybill.DeleteOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		until(t, "the end is told", func() bool { return len(seen.of(waybill.EventEnded, "x")) == 1 })
		if lost := seen.of(waybill.EventLeaseLost, "x"); len(lost) != 1 || seen.of(waybill.EventEnded, "x")[0].Recorded {
			t.Errorf("lost %+v, ended %+v", lost, seen.of(waybill.EventEnded, "x"))
		}
	})
	t.Run("that Redis was away is told once, and that it is back", func(t *testing.T) {
		t.Parallel()
		srv, seen := redistest.Start(t), &watcher{}
		c := newClient(t, srv.Client(), "")
		w := newWorker(t, c, waybill.WorkerOptions{Observe: seen.observe})
		kind := waybill.Define[number]("k", waybill.KindOptions{})
		kind.Handle(w, func(context.Context, *waybill.Job[number]) error { return nil })
		start(t, w)
		for round := range 3 {
			until(t, "the worker has claimed", func() bool { return stats(t, c, "").Workers == 1 })
			srv.Kill()
			until(t, "it is told", func() bool { return len(seen.of(waybill.EventRedisDown, "")) == round+1 })
			srv.Restart()
			back := time.Now()
			_, err := kind.Enqueue(t.Context(), c, number{1}, waybill.Retention(time.Hour))
			until(t, "a job can be enqueued", func() bool {
				if err != nil {
					_, err = kind.Enqueue(t.Context(), c, number{1}, waybill.Retention(time.Hour))
				}
				return err == nil
			})
			until(t, "work goes on", func() bool { return stats(t, c, "").Completed > 0 })
			if took := time.Since(back); took > 4*time.Second { // two are promised, of an idle machine
				t.Errorf("work went on after %s", took)
			}
			until(t, "that it is back is told", func() bool { return len(seen.of(waybill.EventRedisUp, "")) == round+1 })
		}
	})
}

func TestWorker_Progress(t *testing.T) {
	t.Parallel()
	c := shared(t)
	kind := waybill.Define[number]("k", waybill.KindOptions{Retention: time.Hour})
	w := newWorker(t, c, waybill.WorkerOptions{})
	told, goOn := make(chan error, 1), make(chan struct{})
	kind.Handle(w, func(ctx context.Context, job *waybill.Job[number]) error {
		told <- job.Progress(ctx, 40, "four of ten")
		<-goOn
		return nil
	})
	start(t, w)
	e, err := kind.Enqueue(t.Context(), c, number{1})
	if err := errors.Join(err, <-told); err != nil {
		t.Fatal(err)
	}
	info := await(t, c, "default", e.ID, waybill.StateActive)
	if p := info.Progress; p == nil || p.Percent != 40 || p.Note != "four of ten" || p.At.IsZero() {
		t.Errorf("%+v", p)
	}
	close(goOn)
	await(t, c, "default", e.ID, waybill.StateCompleted)
}
