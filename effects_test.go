package waybill_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// counted are the counters of effects, of a queue or of an event.
type counted struct{ effects, suppressed, mismatches int64 }

func countedIn(s waybill.QueueStats) counted { return counted{s.Effects, s.Suppressed, s.Mismatches} }

// tell counts three effects applied, two suppressed, one mismatch, each in a goroutine.
func tell(a *waybill.Attempt) {
	var all sync.WaitGroup
	for _, e := range []waybill.Effect{
		waybill.EffectApplied, waybill.EffectApplied, waybill.EffectApplied, waybill.EffectSuppressed, waybill.EffectSuppressed,
		waybill.EffectMismatch, "another word",
	} {
		all.Go(func() { a.Count(e) })
	}
	all.Wait()
}

func TestAttempt_Count(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, end := range map[string]error{
		"completed": nil, "failed": boom, "snoozed": waybill.Snooze(time.Hour), "dead": waybill.Dead(boom), "cancelled": waybill.Cancel("no"),
	} {
		t.Run("an attempt that "+name+" tells the queue and the observer", func(t *testing.T) {
			t.Parallel()
			c, seen := shared(t), &watcher{}
			kind := waybill.Define[number]("k", waybill.KindOptions{Retry: waybill.Fixed(time.Hour)})
			w := newWorker(t, c, waybill.WorkerOptions{Observe: seen.observe})
			kind.Handle(w, func(_ context.Context, job *waybill.Job[number]) error {
				tell(job.Attempt)
				return end
			})
			start(t, w)
			if _, err := kind.Enqueue(t.Context(), c, number{1}, waybill.ID("x")); err != nil {
				t.Fatal(err)
			}
			until(t, "the end is told", func() bool { return len(seen.of(waybill.EventEnded, "x")) == 1 })
			e := seen.of(waybill.EventEnded, "x")[0]
			if e.Effects != 3 || e.Suppressed != 2 || e.Mismatches != 1 || !e.Recorded {
				t.Errorf("%+v", e)
			}
			if e := seen.of(waybill.EventStarted, "x")[0]; e.Effects+e.Suppressed+e.Mismatches != 0 {
				t.Errorf("told before it ended: %+v", e)
			}
			if got := countedIn(stats(t, c, "")); got != (counted{3, 2, 1}) {
				t.Errorf("the queue counts %+v", got)
			}
		})
	}
	t.Run("an end whose reply is lost counts once", func(t *testing.T) {
		t.Parallel()
		srv := redistest.Start(t)
		proxy := redistest.NewProxy(t, srv)
		direct := newClient(t, srv.Client(), "")
		kind := waybill.Define[number]("k", waybill.KindOptions{})
		w := newWorker(t, newClient(t, proxy.Client(), ""), waybill.WorkerOptions{})
		kind.Handle(w, func(_ context.Context, job *waybill.Job[number]) error {
			tell(job.Attempt)
			return nil
		})
		lost := 0
		proxy.LoseWhere(func(request []byte) bool {
			if !bytes.Contains(request, []byte("ack 3 2 1\r\n")) {
				return false
			}
			lost++
			return lost < 3
		})
		stop := start(t, w)
		if _, err := kind.Enqueue(t.Context(), direct, number{1}); err != nil {
			t.Fatal(err)
		}
		until(t, "it is sent a third time", func() bool { return proxy.Cuts() == 2 })
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if s := stats(t, direct, ""); countedIn(s) != (counted{3, 2, 1}) || s.Completed != 1 {
			t.Errorf("the queue counts %+v, %d completed", countedIn(s), s.Completed)
		}
	})
	t.Run("an attempt that lost its lease counts nothing", func(t *testing.T) {
		t.Parallel()
		c, seen := shared(t), &watcher{}
		kind := waybill.Define[number]("k", waybill.KindOptions{})
		w := newWorker(t, c, waybill.WorkerOptions{Observe: seen.observe, Lease: 300 * time.Millisecond})
		kind.Handle(w, func(ctx context.Context, job *waybill.Job[number]) error {
			tell(job.Attempt)
			<-ctx.Done()
			return nil
		})
		start(t, w)
		if _, err := kind.Enqueue(t.Context(), c, number{1}, waybill.ID("x")); err != nil {
			t.Fatal(err)
		}
		await(t, c, "default", "x", waybill.StateActive)
		if err := c.Queue("").Delete(t.Context(), "x", waybill.DeleteOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		until(t, "the end is told", func() bool { return len(seen.of(waybill.EventEnded, "x")) == 1 })
		if e := seen.of(waybill.EventEnded, "x")[0]; e.Recorded || e.Effects != 3 {
			t.Errorf("%+v", e)
		}
		if got := countedIn(stats(t, c, "")); got != (counted{}) {
			t.Errorf("the queue counts %+v", got)
		}
	})
	t.Run("in an attempt made by hand it does nothing", func(t *testing.T) {
		t.Parallel()
		tell(&waybill.Attempt{ID: "x"}) // it would panic
	})
}

func TestAttempt_EarlierUntold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		a    waybill.Attempt
		want bool
	}{
		"made by hand":                    {waybill.Attempt{}, false},
		"the first":                       {waybill.Attempt{Number: 1}, false},
		"after a crash":                   {waybill.Attempt{Number: 2, Crashes: 1}, true},
		"after three crashes":             {waybill.Attempt{Number: 4, Crashes: 3}, true},
		"after a failure":                 {waybill.Attempt{Number: 2, Failures: 1}, false},
		"after a failure and a crash":     {waybill.Attempt{Number: 3, Failures: 1, Crashes: 1}, false},
		"after a snooze and a crash":      {waybill.Attempt{Number: 3, Crashes: 1}, false},
		"after crashes and then requeued": {waybill.Attempt{Number: 7}, false},
	} {
		if got := tc.a.EarlierUntold(); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
