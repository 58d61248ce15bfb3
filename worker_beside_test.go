package waybill_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

func TestWorkers_RunNoJobBesideItself(t *testing.T) {
	t.Parallel()
	c := shared(t)
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	var running, most, begun, putOff atomic.Int32
	finish := make(chan struct{})
	for range 2 { // two workers of one process, on one client
		w := newWorker(t, c, waybill.WorkerOptions{Concurrency: 1, Observe: func(e waybill.Event) {
			if e.Type == waybill.EventPutOff {
				putOff.Add(1)
			}
		}})
		kind.Handle(w, func(context.Context, *waybill.Job[number]) error { // it does not look at its context
			begun.Add(1)
			most.Store(max(most.Load(), running.Add(1)))
			<-finish
			running.Add(-1)
			return nil
		})
		start(t, w)
	}
	send := func() {
		t.Helper()
		if _, err := kind.Enqueue(t.Context(), c, number{1}, waybill.ID("a")); err != nil {
			t.Fatal(err)
		}
	}
	send()
	until(t, "the job runs", func() bool { return begun.Load() == 1 })
	if err := c.Queue("").Delete(t.Context(), "a", waybill.DeleteOptions{Force: true, Forget: true}); err != nil {
		t.Fatal(err)
	}
	send() // the other worker has a free slot for it
	until(t, "it is put off", func() bool { return putOff.Load() > 0 })
	close(finish)
	until(t, "it runs when the first handler has returned", func() bool { return stats(t, c, "").Completed == 1 })
	if most.Load() != 1 || begun.Load() != 2 {
		t.Errorf("%d copies ran at a time, %d began", most.Load(), begun.Load())
	}
	s := stats(t, c, "")
	if s.Failures != 0 || s.Crashes != 0 || s.OldestReady > time.Minute {
		t.Errorf("%+v", s)
	}
}
