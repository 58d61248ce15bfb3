package waybill_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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

// Listening holds a connection for up to a second: with more queues than connections, renewals must still get one.
func TestWorker_ManyQueuesOnFewConnectionsKeepTheirLeases(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	o, err := redis.ParseURL(srv.URL())
	if err != nil {
		t.Fatal(err)
	}
	o.PoolSize = 4
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	c := newClient(t, rdb, "")
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	var queues []waybill.QueueOptions
	var requests []waybill.Request
	for i := range 30 {
		name := fmt.Sprintf("default%d", i)
		queues = append(queues, waybill.QueueOptions{Name: name})
		requests = append(requests, kind.On(name).Request(number{i}))
	}
	w := newWorker(t, c, waybill.WorkerOptions{Queues: append(queues, waybill.QueueOptions{}), Lease: 3 * time.Second})
	kind.Handle(w, func(ctx context.Context, _ *waybill.Job[number]) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Second): // longer than the lease
			return nil
		}
	})
	start(t, w)
	if _, err := c.EnqueueMany(t.Context(), requests); err != nil {
		t.Fatal(err)
	}
	for _, q := range queues {
		until(t, "the job of "+q.Name+" is done", func() bool { return stats(t, c, q.Name).Completed == 1 })
		if s := stats(t, c, q.Name); s.Crashes+s.Stale+s.Failures != 0 || s.Deliveries != 1 {
			t.Errorf("%s: deliveries %d, crashes %d, stale %d, failures %d", q.Name, s.Deliveries, s.Crashes, s.Stale, s.Failures)
		}
	}
}
