package waybilltest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// Published gives all events of a topic that were published through the Env's client and taken: in order, each event once,
// also those that were worked off. A topic is a *topic.Topic.
func Published[E any](e *Env, topic waybill.Typed[E]) []E {
	e.t.Helper()
	return arguments(e.t, e, wanted[E]{topic, true, nil})
}

// RequirePublished gives the first event of a topic for which each match is true; it fails the test where there is none, and
// tells what was published and enqueued instead. It looks at the events that Published gives.
func RequirePublished[E any](t testing.TB, e *Env, topic waybill.Typed[E], match ...func(E) bool) E {
	t.Helper()
	found := arguments(t, e, wanted[E]{topic, true, match})
	if len(found) == 0 {
		t.Fatalf("waybilltest: no event of topic %s%s was published; enqueued were %s", topic.Name(), matching(match), e.list())
	}
	return found[0]
}

// RequireNotPublished fails the test where an event of a topic for which each match is true was published.
func RequireNotPublished[E any](t testing.TB, e *Env, topic waybill.Typed[E], match ...func(E) bool) {
	t.Helper()
	if found := arguments(t, e, wanted[E]{topic, true, match}); len(found) > 0 {
		t.Fatalf("waybilltest: %d events of topic %s%s were published; the first: %+v; enqueued were %s",
			len(found), topic.Name(), matching(match), found[0], e.list())
	}
}

// heldEvents is the capacity of a topic that nobody subscribes to yet.
const heldEvents = 1_000_000

// topics are those that were seen to by hold. The zero value knows none.
type topics struct {
	mu   sync.Mutex
	seen map[string]bool
}

// hold is the client's middleware by which a topic without a subscription keeps its events. The worker makes its
// subscriptions at the first WorkAll; the code under test publishes before, and a publisher is tested without any.
func (e *Env) hold(next waybill.Enqueuer) waybill.Enqueuer {
	return func(ctx context.Context, requests []waybill.Request) []waybill.Enqueued {
		for _, r := range requests {
			if name, ok := store.TopicOf(r.Queue); ok {
				e.bound(ctx, name)
			}
		}
		return next(ctx, requests)
	}
}

// bound sees to a topic at its first event. What goes wrong the publish itself tells.
func (e *Env) bound(ctx context.Context, name string) {
	e.topics.mu.Lock()
	defer e.topics.mu.Unlock()
	if e.topics.seen[name] {
		return
	}
	t, err := e.Client.Topic(name)
	if err != nil {
		return
	}
	s, err := t.Look(ctx)
	if err == nil && len(s.Subscriptions) == 0 && s.Capacity == store.Unlimited {
		err = t.Set(ctx, store.TopicSettings{Capacity: new(int64(heldEvents))})
	}
	if err == nil {
		if e.topics.seen == nil {
			e.topics.seen = map[string]bool{}
		}
		e.topics.seen[name] = true
	}
}

// subscribeTime is how long a worker may take to make its subscriptions. A queue of a subscription can be worked off without
// one, so that not to have it is no failure.
const subscribeTime = 5 * time.Second

// subscribed waits until the worker has made its subscriptions.
func (e *Env) subscribed(ctx context.Context) {
	e.t.Helper()
	began := time.Now()
	e.every(ctx, func() bool {
		for _, name := range e.Worker.Queues() {
			if _, there := e.subscription(ctx, name); !there && time.Since(began) < subscribeTime {
				return false
			}
		}
		return true
	})
}

// lag is how many events a queue's subscription can take now: none where it is no subscription's queue.
func (e *Env) lag(ctx context.Context, queue string, s waybill.QueueStats) int64 {
	e.t.Helper()
	sub, there := e.subscription(ctx, queue)
	if !there || !sub.Detached.IsZero() || s.Capacity != waybill.Unlimited && s.Live() >= s.Capacity {
		return 0
	}
	return sub.Lag
}

// subscription is how the subscription of a queue stands. A plain queue is there, and lags behind nothing.
func (e *Env) subscription(ctx context.Context, queue string) (_ store.SubscriptionStats, there bool) {
	e.t.Helper()
	name, sub, ok := strings.Cut(queue, "/")
	if !ok {
		return store.SubscriptionStats{}, true
	}
	t, err := e.Client.Topic(name)
	e.must(ctx, "look", err)
	s, err := t.Look(ctx)
	e.must(ctx, "look", err)
	for _, one := range s.Subscriptions {
		if one.Name == sub {
			return one, true
		}
	}
	return store.SubscriptionStats{}, false
}
