package topic_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/topic"
)

// ended waits until a subscription's job is in a state, and gives it.
func (s *stand) ended(name, id string, state waybill.State) (j waybill.JobInfo) {
	s.t.Helper()
	s.until("job "+id+" is "+string(state), func() (ok bool) {
		var err error
		j, err = s.c.Queue("orders/"+name).Get(s.t.Context(), id)
		return err == nil && j.State == state
	})
	return j
}

// shaped is an event that had another shape before.
type shaped struct{ Number int }

func TestSubscribe_versions(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	old := topic.Define[struct{ No int }]("orders")
	today := topic.Define[shaped]("orders", topic.Options{Version: 1})
	newer := topic.Define[shaped]("orders", topic.Options{Version: 2})
	waybill.AcceptOld(today.Kind(), 0, func(o struct{ No int }) (shaped, error) { return shaped{o.No}, nil })
	s.create("mail")
	for id, r := range map[string]waybill.Request{
		"old": old.Request(struct{ No int }{1}), "today": today.Request(shaped{2}), "newer": newer.Request(shaped{3}),
		"damaged": {Queue: "topic:orders", Kind: "orders", Payload: []byte("{"), Version: 1},
		"other":   {Queue: "topic:orders", Kind: "returned", Payload: []byte(`{"Number":4}`), Version: 1},
	} {
		r.ID = id
		if _, err := s.c.Enqueue(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan int, 10)
	s.run(func(w *waybill.Worker) {
		today.Subscribe(w, "mail", topic.SubscribeOptions{Retention: time.Hour}, func(_ context.Context, j *waybill.Job[shaped]) error {
			got <- j.Args.Number
			return nil
		})
	})
	for id, state := range map[string]waybill.State{
		"old": waybill.StateCompleted, "today": waybill.StateCompleted, "newer": waybill.StateScheduled, "damaged": waybill.StateDead,
		"other": waybill.StateCompleted,
	} {
		if j := s.ended("mail", id, state); state == waybill.StateDead && (j.Attempt != 1 || len(j.Errors) != 1) {
			t.Errorf("%s is dead after %d attempts: %v", id, j.Attempt, j.Errors)
		}
	}
	if n := []int{<-got, <-got, <-got}; !slices.Contains(n, 1) || !slices.Contains(n, 2) || !slices.Contains(n, 4) || len(got) > 0 {
		t.Errorf("handled %v, and %d more", n, len(got))
	}
}

func TestSubscribe_policy(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("mail", "slow")
	s.publish(1, 1)
	var through []string
	named := func(name string) waybill.Middleware {
		return func(next waybill.Handler) waybill.Handler {
			return func(ctx context.Context, a *waybill.Attempt) ([]byte, error) {
				if a.Queue == "orders/mail" && a.Number == 1 {
					through = append(through, name) // one attempt at a time
				}
				return next(ctx, a)
			}
		}
	}
	s.run(func(w *waybill.Worker) {
		orders.Subscribe(w, "mail", topic.SubscribeOptions{
			Concurrency: 1, MaxFailures: 2, Retry: func(int, error) time.Duration { return 0 },
		}, func(_ context.Context, j *waybill.Job[order]) error {
			if j.MaxFailures != 2 {
				t.Errorf("the handler is told of %d failures", j.MaxFailures)
			}
			return errors.New("no")
		}, named("inner"), named("innermost"))
		orders.Subscribe(w, "slow", topic.SubscribeOptions{MaxFailures: 1, Timeout: 20 * time.Millisecond},
			func(ctx context.Context, _ *waybill.Job[order]) error { <-ctx.Done(); return ctx.Err() })
		w.Use(named("outermost"), named("outer"))
	})
	if j := s.ended("mail", "order-1", waybill.StateDead); j.Failures != 2 {
		t.Errorf("dead after %d failures", j.Failures)
	}
	if j := s.ended("slow", "order-1", waybill.StateDead); j.Failures != 1 {
		t.Errorf("the slow one is dead after %d failures", j.Failures)
	}
	if want := []string{"outermost", "outer", "inner", "innermost"}; !slices.Equal(through, want) {
		t.Errorf("middleware: %v, want %v", through, want)
	}
}

// TestSubscribe_kindLimit: what a kind of the topic's name may do at a time holds in one worker, over all its queues, those of
// subscriptions among them.
func TestSubscribe_kindLimit(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("mail")
	s.publish(1, 20)
	l := newLog()
	var now, peak atomic.Int32
	s.run(func(w *waybill.Worker) {
		for name, at := range map[string]int{"orders": 1, "other": 2} {
			k := waybill.Define[order](name, waybill.KindOptions{Concurrency: at})
			k.Handle(w, func(context.Context, *waybill.Job[order]) error { return nil })
		}
		orders.Subscribe(w, "mail", topic.SubscribeOptions{}, func(ctx context.Context, j *waybill.Job[order]) error {
			if n := now.Add(1); n > peak.Load() {
				peak.Store(n)
			}
			defer now.Add(-1)
			if err := j.Check(ctx); err != nil { // a round trip, in which another could begin
				return err
			}
			return l.note(ctx, j)
		})
	})
	l.await(t, 20)
	if n := peak.Load(); n != 1 {
		t.Errorf("%d at a time, want 1", n)
	}
}

func TestSubscribe_away(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	c, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	w, err := waybill.NewWorker(c, waybill.WorkerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	orders.Subscribe(w, "mail", topic.SubscribeOptions{}, func(context.Context, *waybill.Job[order]) error { return nil })
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if err := w.Run(ctx); err != nil || ctx.Err() == nil {
		t.Errorf("run: %v, %v", err, ctx.Err())
	}
	ended, _ := ctx.Deadline()
	if late := time.Since(ended); late > 5*time.Second {
		t.Errorf("it ended %s after its context", late)
	}
}
