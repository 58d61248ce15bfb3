package waybill_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

func TestEnqueue_FullQueueHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	c := shared(t)
	set(t, c, "full", waybill.QueueSettings{Capacity: ptr(int64(0))})
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // the free job is there while the other still waits
		for stats(t, c, "free").Accepted == 0 {
			if t.Context().Err() != nil {
				return
			}
		}
		cancel()
	}()
	out, err := c.EnqueueMany(ctx, []waybill.Request{
		kind.On("full").Request(number{1}, waybill.OnFull(waybill.FullWait)), kind.On("free").Request(number{2}),
	})
	wantOutcome(t, out[0], waybill.OutcomeRejected, waybill.ErrFull)
	wantOutcome(t, out[1], waybill.OutcomeAccepted, nil)
	if !errors.Is(out[0].Err, context.Canceled) || !errors.Is(err, context.Canceled) {
		t.Errorf("that the context ended is told: %v", err)
	}
}

func TestWorker_DrainsASpillAsFastAsItsHandlers(t *testing.T) {
	t.Parallel()
	c := shared(t)
	set(t, c, "spill", waybill.QueueSettings{Capacity: ptr(int64(2))})
	kind := waybill.Define[number]("k", waybill.KindOptions{Queue: "spill"})
	if _, err := kind.EnqueueMany(t.Context(), c, make([]number, 40), waybill.OnFull(waybill.FullSpill)); err != nil {
		t.Fatal(err)
	}
	w := newWorker(t, c, waybill.WorkerOptions{})
	kind.Handle(w, func(context.Context, *waybill.Job[number]) error { return nil })
	began := time.Now()
	start(t, w)
	until(t, "all are done", func() bool { return stats(t, c, "spill").Completed == 40 })
	if took := time.Since(began); took > 5*time.Second { // by the poll alone it would be 20 s
		t.Errorf("40 jobs through a capacity of 2 took %s", took)
	}
}

func TestWorker_StopsWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	c := newClient(t, srv.Client(), "")
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	w := newWorker(t, c, waybill.WorkerOptions{Grace: 100 * time.Millisecond})
	running, release := make(chan struct{}), make(chan struct{})
	kind.Handle(w, func(context.Context, *waybill.Job[number]) error {
		close(running)
		<-release
		return nil
	})
	stop := start(t, w)
	if _, err := kind.Enqueue(t.Context(), c, number{1}); err != nil {
		t.Fatal(err)
	}
	<-running
	srv.Kill()
	close(release)
	began := time.Now()
	if err := stop(); err == nil {
		t.Error("an end that is not recorded was not told")
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the stop took %s", took)
	}
}
