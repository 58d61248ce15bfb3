package topic_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/topic"
)

// TestReplay_age: receipts are purged by it, so a younger age would repeat what was purged.
func TestReplay_age(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("mail")
	born := time.UnixMilli(1_700_000_000_123)
	of, err := s.c.Topic("orders")
	if err != nil {
		t.Fatal(err)
	}
	add := store.Add{ID: "e1", Job: record.Job{Kind: "orders", Payload: []byte(`{"Number":1}`), Named: true, Born: born}} // as an outbox sends it
	if said := of.Enqueue(t.Context(), []store.Add{add}, false); said[0].Outcome != store.Accepted {
		t.Fatalf("publish: %+v", said)
	}
	s.drain("mail", 1)
	if _, err := s.s.Replay(t.Context(), "mail", topic.ReplayOptions{ID: "r"}); err != nil {
		t.Fatal(err)
	}
	if got := s.drain("mail", 1).got[0]; got.Replay != "r" || !got.BornAt.Equal(born) {
		t.Errorf("replay %q was born at %s, its event at %s", got.Replay, got.BornAt, born)
	}
}

// TestSubscribe_listed: who lists a subscription's queue for its slots has the subscription all the same.
func TestSubscribe_listed(t *testing.T) {
	t.Parallel()
	list := waybill.QueueOptions{Name: "orders/mail", Weight: 2}
	worked := func(t *testing.T, o waybill.WorkerOptions, more func(*waybill.Worker) error) {
		t.Helper()
		s := newStand(t)
		s.create("other")
		s.publish(1, 1)
		l := newLog()
		s.runWith(o, func(w *waybill.Worker) {
			orders.Subscribe(w, "mail", topic.SubscribeOptions{}, l.note)
			if err := more(w); err != nil {
				t.Fatal(err)
			}
		})
		l.await(t, 1)
	}
	t.Run("in the options", func(t *testing.T) {
		t.Parallel()
		o := waybill.WorkerOptions{Queues: []waybill.QueueOptions{list}}
		worked(t, o, func(*waybill.Worker) error { return nil })
	})
	t.Run("added", func(t *testing.T) {
		t.Parallel()
		worked(t, waybill.WorkerOptions{}, func(w *waybill.Worker) error { return w.AddQueue(list) })
	})
}

func TestSubscribe_badOptions(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	for field, o := range map[string]topic.SubscribeOptions{
		"timeout":      {Timeout: -time.Second},
		"retention":    {Retention: -time.Second},
		"max failures": {MaxFailures: 1 << 40},
		"subscribe":    {From: "soon"},
		"concurrency":  {Concurrency: -1},
		"weight":       {Weight: -1},
	} {
		t.Run(field+" panics", func(t *testing.T) {
			t.Parallel()
			w, err := waybill.NewWorker(s.c, waybill.WorkerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if said, _ := recover().(string); !strings.Contains(said, field) || !strings.Contains(said, "orders/mail") {
					t.Errorf("panic %q does not name %s", said, field)
				}
			}()
			orders.Subscribe(w, "mail", o, func(context.Context, *waybill.Job[order]) error { return nil })
		})
	}
}

// TestPublish_nobody: room for events that nobody subscribes to would be waited for in vain.
func TestPublish_nobody(t *testing.T) {
	t.Parallel()
	for name, publish := range map[string]func(*stand, context.Context) error{
		"one": func(s *stand, ctx context.Context) error {
			_, err := orders.Publish(ctx, s.c, order{1}, waybill.OnFull(waybill.FullWait))
			return err
		},
		"many": func(s *stand, ctx context.Context) error {
			_, err := orders.PublishMany(ctx, s.c, []order{{1}, {2}}, waybill.OnFull(waybill.FullWaitFor(time.Hour)))
			return err
		},
	} {
		t.Run(name+" is refused at once", func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
			defer stop()
			if err := publish(s, ctx); !errors.Is(err, waybill.ErrNoSubscription) || ctx.Err() != nil {
				t.Errorf("%v, %v", err, ctx.Err())
			}
		})
	}
}

// TestWorker_dropSubscription: a queue with a handler of its own is one that the worker works off, before it runs too.
func TestWorker_dropSubscription(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("other")
	s.publish(1, 1)
	l := newLog()
	s.run(func(w *waybill.Worker) {
		for _, name := range []string{"mail", "other"} {
			orders.Subscribe(w, name, topic.SubscribeOptions{}, l.note)
		}
		if err := w.DropQueue(t.Context(), "orders/mail"); err != nil {
			t.Errorf("drop: %v", err)
		}
		if err := w.DropQueue(t.Context(), "orders/mail"); !errors.Is(err, waybill.ErrInvalid) {
			t.Errorf("drop again: %v", err)
		}
	})
	l.await(t, 1)
	if subs := s.stats().Subscriptions; len(subs) != 1 || subs[0].Name != "other" {
		t.Errorf("there are %+v", subs)
	}
}

// TestCausedBy: two subscriptions do different work with one event, and a replay does the same work again.
func TestCausedBy(t *testing.T) {
	t.Parallel()
	id := func(a waybill.Attempt, step string) string {
		r := orders.Kind().Request(order{}, waybill.CausedBy(&a, step))
		return r.ID
	}
	first := waybill.Attempt{ID: "e1", Event: "e1", Queue: "orders/mail", Scope: "orders/mail"}
	other := waybill.Attempt{ID: "e1", Event: "e1", Queue: "orders/bill", Scope: "orders/bill"}
	again := waybill.Attempt{ID: "r/e1", Event: "e1", Replay: "r", Queue: "orders/mail", Scope: "orders/mail"}
	plain := waybill.Attempt{ID: "e1", Queue: "mail", Scope: "mail"}
	if id(first, "x") == id(other, "x") {
		t.Errorf("two subscriptions cause one job, %s", id(first, "x"))
	}
	if got, want := id(again, "x"), id(first, "x"); got != want {
		t.Errorf("a replay causes %s, the first delivery %s", got, want)
	}
	if got := id(plain, "x"); got != "e1/x" {
		t.Errorf("a job of a queue causes %s", got)
	}
}
