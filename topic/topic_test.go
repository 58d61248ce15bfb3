package topic_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/topic"
)

func TestMain(m *testing.M) { redistest.Main(m) }

type order struct{ Number int }

var orders = topic.Define[order]("orders")

// stand is a client on a prefix of its own.
type stand struct {
	t      *testing.T
	rdb    redis.UniversalClient
	c      *waybill.Client
	prefix string
	s      *topic.Stream
}

func newStand(t *testing.T) *stand {
	t.Helper()
	rdb, prefix := redistest.Shared(t)
	c, err := waybill.NewClient(rdb, waybill.ClientOptions{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &stand{t, rdb, c, prefix, orders.Stream(c)}
}

// create makes subscriptions at the beginning.
func (s *stand) create(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if at, err := s.s.Create(s.t.Context(), name, topic.Beginning); err != nil || at.Outcome != topic.Created {
			s.t.Fatalf("create %s: %+v, %v", name, at, err)
		}
	}
}

// publish sends orders with numbers from one to another, by their IDs.
func (s *stand) publish(from, to int) {
	s.t.Helper()
	var all []waybill.Request
	for n := from; n <= to; n++ {
		all = append(all, orders.Request(order{n}, waybill.ID(fmt.Sprintf("order-%d", n))))
	}
	if _, err := s.c.EnqueueMany(s.t.Context(), all); err != nil {
		s.t.Fatal(err)
	}
}

// log is what handlers met, in order.
type log struct {
	mu   sync.Mutex
	got  []*waybill.Job[order]
	came chan struct{}
}

func newLog() *log { return &log{came: make(chan struct{}, 100_000)} }

func (l *log) note(_ context.Context, job *waybill.Job[order]) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, job)
	l.came <- struct{}{}
	return nil
}

func (l *log) numbers() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []int
	for _, j := range l.got {
		out = append(out, j.Args.Number)
	}
	return out
}

// await waits until handlers met so many.
func (l *log) await(t *testing.T, n int) {
	t.Helper()
	late := time.After(time.Minute)
	for range n {
		select {
		case <-l.came:
		case <-late:
			t.Fatalf("met only %v", l.numbers())
		}
	}
}

// run starts a worker, and gives what stops it.
func (s *stand) run(set func(*waybill.Worker)) (stop func() error) {
	s.t.Helper()
	return s.runWith(waybill.WorkerOptions{}, set)
}

// runWith is run for a worker with options.
func (s *stand) runWith(o waybill.WorkerOptions, set func(*waybill.Worker)) (stop func() error) {
	s.t.Helper()
	w, err := waybill.NewWorker(s.c, o)
	if err != nil {
		s.t.Fatal(err)
	}
	set(w)
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	s.t.Cleanup(func() {
		if err := stop(); err != nil {
			s.t.Errorf("run: %v", err)
		}
	})
	return stop
}

func (s *stand) stats() topic.Stats {
	s.t.Helper()
	got, err := s.s.Stats(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

// sub is how a subscription stands.
func (s *stand) sub(name string) topic.SubscriptionStats {
	s.t.Helper()
	all := s.stats().Subscriptions
	i := slices.IndexFunc(all, func(x topic.SubscriptionStats) bool { return x.Name == name })
	if i < 0 {
		s.t.Fatalf("no subscription %s in %+v", name, all)
	}
	return all[i]
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i + 1
	}
	return out
}

func TestTopic_Publish(t *testing.T) {
	t.Parallel()

	t.Run("each subscription gets each event, under one ID and tokens of its own", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		s.create("mail", "billing")
		mail, billing := newLog(), newLog()
		s.run(func(w *waybill.Worker) {
			orders.Subscribe(w, "mail", topic.SubscribeOptions{}, mail.note)
			orders.Subscribe(w, "billing", topic.SubscribeOptions{}, billing.note)
		})
		s.publish(1, 50)
		mail.await(t, 50)
		billing.await(t, 50)
		for _, l := range []*log{mail, billing} {
			if got := slices.Sorted(slices.Values(l.numbers())); !slices.Equal(got, upTo(50)) {
				t.Errorf("met %v", got)
			}
		}
		a, b := mail.got[0], billing.got[0]
		if a.Token == b.Token || a.Queue != "orders/mail" || a.Event != a.ID || a.Kind != "orders" || a.Replay != "" {
			t.Errorf("%+v, %+v", a.Attempt, b.Attempt)
		}
		if want := "orders/mail/" + a.ID + "/step"; a.IdempotencyKey("step") != want {
			t.Errorf("idempotency key %q, want %q: other subscriptions do other work", a.IdempotencyKey("step"), want)
		}
	})

	t.Run("the same ID is one event, and another payload a conflict", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		s.create("mail")
		for i, want := range []waybill.Outcome{waybill.OutcomeAccepted, waybill.OutcomeDuplicate} {
			if got, err := orders.Publish(t.Context(), s.c, order{1}, waybill.ID("a")); err != nil || got.Outcome != want || got.ID != "a" {
				t.Errorf("%d: %+v, %v", i, got, err)
			}
		}
		got, err := orders.Publish(t.Context(), s.c, order{2}, waybill.ID("a"))
		if !errors.Is(err, waybill.ErrConflict) || got.Outcome != waybill.OutcomeConflict {
			t.Errorf("%+v, %v", got, err)
		}
		if n := s.stats().Published; n != 1 {
			t.Errorf("%d events", n)
		}
	})

	t.Run("without subscription and bound it is refused, and nothing is kept", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		got, err := orders.Publish(t.Context(), s.c, order{1})
		if !errors.Is(err, waybill.ErrNoSubscription) || got.Outcome != waybill.OutcomeRejected || s.stats().Entries != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})

	t.Run("with a bound events are kept up to it, then refused as full", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		if err := s.s.Set(t.Context(), topic.Settings{Capacity: new(int64(3))}); err != nil {
			t.Fatal(err)
		}
		s.publish(1, 3)
		_, err := orders.Publish(t.Context(), s.c, order{4})
		var full *waybill.FullError
		if !errors.As(err, &full) || full.Depth != 3 || full.Capacity != 3 || err.Error() != "topic orders is full (3 of 3)" {
			t.Errorf("%v", err)
		}
		s.create("late")
		l := newLog()
		s.run(func(w *waybill.Worker) { orders.Subscribe(w, "late", topic.SubscribeOptions{Concurrency: 1}, l.note) })
		l.await(t, 3)
		if _, err := orders.Publish(t.Context(), s.c, order{4}, waybill.OnFull(waybill.FullWait)); err != nil {
			t.Errorf("with room again: %v", err)
		}
		l.await(t, 1)
	})

	t.Run("what only jobs have is refused by name, before anything is sent", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		s.create("mail")
		for field, o := range map[string]waybill.EnqueueOption{
			"priority": waybill.Priority(1), "lifo": waybill.LIFO(), "delay": waybill.After(time.Second), "at": waybill.At(time.Now()),
			"max failures": waybill.MaxFailures(1), "retention": waybill.Retention(time.Hour), "on full": waybill.OnFull(waybill.FullSpill),
		} {
			_, err := orders.Publish(t.Context(), s.c, order{1}, o)
			if !errors.Is(err, waybill.ErrInvalid) || err.Error()[:len(field)] != field {
				t.Errorf("%s: %v", field, err)
			}
		}
		if n := s.stats().Published; n != 0 {
			t.Errorf("%d events", n)
		}
	})

	t.Run("jobs and events go in one call, each answered in its place", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		s.create("mail")
		out, err := s.c.EnqueueMany(t.Context(), []waybill.Request{
			{Kind: "k", ID: "job"}, orders.Request(order{1}, waybill.ID("event")), {Kind: "k", ID: "other"},
		})
		if err != nil || out[0].ID != "job" || out[1].ID != "event" || out[1].Queue != "topic:orders" || out[2].ID != "other" {
			t.Errorf("%+v, %v", out, err)
		}
	})

	t.Run("middleware of the client sees events", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		s.create("mail")
		s.c.Use(func(next waybill.Enqueuer) waybill.Enqueuer {
			return func(ctx context.Context, r []waybill.Request) []waybill.Enqueued {
				for i := range r {
					r[i].SetHeader("tenant", "t1")
				}
				return next(ctx, r)
			}
		})
		s.publish(1, 1)
		l := newLog()
		s.run(func(w *waybill.Worker) { orders.Subscribe(w, "mail", topic.SubscribeOptions{}, l.note) })
		l.await(t, 1)
		if got := l.got[0].Headers["tenant"]; got != "t1" {
			t.Errorf("header %q", got)
		}
	})
}

func TestTopic_Subscribe(t *testing.T) {
	t.Parallel()

	t.Run("the worker makes the subscription at its place", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		s.create("first")
		s.publish(1, 3)
		all, late := newLog(), newLog()
		stop := s.run(func(w *waybill.Worker) {
			orders.Subscribe(w, "all", topic.SubscribeOptions{}, all.note)
			orders.Subscribe(w, "late", topic.SubscribeOptions{From: topic.Now}, late.note)
		})
		all.await(t, 3)
		s.publishWhenThere("late", 4, 5)
		all.await(t, 2)
		late.await(t, 2)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(slices.Values(late.numbers())); !slices.Equal(got, []int{4, 5}) {
			t.Errorf("late met %v", got)
		}
	})

	t.Run("events start in the order of publication in one worker with concurrency 1", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		s.create("mail")
		s.publish(1, 700)
		l := newLog()
		s.run(func(w *waybill.Worker) { orders.Subscribe(w, "mail", topic.SubscribeOptions{Concurrency: 1}, l.note) })
		s.publish(701, 1000)
		l.await(t, 1000)
		if !slices.Equal(l.numbers(), upTo(1000)) {
			t.Errorf("met %v", l.numbers())
		}
	})

	t.Run("retries and dead letters are each subscription's own", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		s.create("good", "bad")
		good := newLog()
		failed := make(chan struct{}, 100)
		s.run(func(w *waybill.Worker) {
			orders.Subscribe(w, "good", topic.SubscribeOptions{Retention: time.Hour}, good.note)
			orders.Subscribe(w, "bad", topic.SubscribeOptions{MaxFailures: 2, Retry: waybill.Exponential(time.Millisecond, time.Millisecond)},
				func(context.Context, *waybill.Job[order]) error {
					failed <- struct{}{}
					return errors.New("no")
				})
		})
		s.publish(1, 10)
		good.await(t, 10)
		for range 20 {
			<-failed
		}
		s.until("the dead letters stand", func() bool { return s.sub("bad").Dead == 10 && s.sub("bad").Retry == 0 })
		if g := s.sub("good"); g.Dead != 0 || g.Lag != 0 {
			t.Errorf("good: %+v", g)
		}
		if st, err := s.c.Queue("orders/good").Stats(t.Context()); err != nil || st.Completed != 10 || st.Kept != 10 || st.Accepted != 10 {
			t.Errorf("good: %+v, %v", st, err)
		}
		if err := s.c.Queue("orders/bad").Requeue(t.Context(), "order-1"); err != nil {
			t.Error(err)
		}
	})

	t.Run("a name that is a foreign group's ends Run", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		if err := s.rdb.XGroupCreateMkStream(t.Context(), s.prefix+":{orders}:stream", "theirs", "0").Err(); err != nil {
			t.Fatal(err)
		}
		w, err := waybill.NewWorker(s.c, waybill.WorkerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		orders.Subscribe(w, "theirs", topic.SubscribeOptions{}, newLog().note)
		if err := w.Run(t.Context()); !errors.Is(err, waybill.ErrState) {
			t.Errorf("run: %v", err)
		}
	})

	t.Run("handlers of kinds stay beside it", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		s.create("mail")
		l, other := newLog(), newLog()
		k := waybill.Define[order]("orders", waybill.KindOptions{}) // the name of the events' kind, in another queue
		s.run(func(w *waybill.Worker) {
			k.Handle(w, other.note)
			orders.Subscribe(w, "mail", topic.SubscribeOptions{}, l.note)
		})
		s.publish(1, 1)
		if _, err := k.Enqueue(t.Context(), s.c, order{2}); err != nil {
			t.Fatal(err)
		}
		l.await(t, 1)
		other.await(t, 1)
		if l.got[0].Args.Number != 1 || other.got[0].Args.Number != 2 || other.got[0].Event != "" {
			t.Errorf("%+v, %+v", l.got[0], other.got[0])
		}
	})
}

// publishWhenThere publishes once a subscription exists.
func (s *stand) publishWhenThere(name string, from, to int) {
	s.t.Helper()
	s.until("subscription "+name, func() bool {
		return slices.ContainsFunc(s.stats().Subscriptions, func(x topic.SubscriptionStats) bool { return x.Name == name })
	})
	s.publish(from, to)
}

// until waits for what comes by itself.
func (s *stand) until(what string, ok func() bool) {
	s.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(end) {
			s.t.Fatalf("not within a minute: %s", what)
		}
	}
}

func TestDefine(t *testing.T) {
	t.Parallel()
	for name, define := range map[string]func(){
		"a bad name":    func() { topic.Define[order]("a b") },
		"an empty name": func() { topic.Define[order]("") },
		"a bad version": func() { topic.Define[order]("a", topic.Options{Version: -1}) },
		"two options":   func() { topic.Define[order]("a", topic.Options{}, topic.Options{}) },
	} {
		t.Run(name+" panics", func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			define()
		})
	}
}

func TestTopic_Subscribe_lost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c, err := waybill.NewClient(server.Client(), waybill.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{t: t, rdb: server.Client(), c: c, prefix: "wb", s: orders.Stream(c)}
	mail, other := newLog(), newLog()
	stop := s.run(func(w *waybill.Worker) {
		orders.Subscribe(w, "mail", topic.SubscribeOptions{}, mail.note)
		orders.Subscribe(w, "other", topic.SubscribeOptions{}, other.note)
	})
	s.publishWhenThere("mail", 1, 1)
	mail.await(t, 1)
	if err := s.rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	_, err = orders.Publish(t.Context(), c, order{2})
	if err != nil && !errors.Is(err, waybill.ErrNoSubscription) {
		t.Errorf("publish on a Redis that lost all: %v", err)
	}
	s.publishWhenThere("mail", 3, 3) // a worker that runs makes it anew
	mail.await(t, 1)
	s.until("both", func() bool { return len(s.stats().Subscriptions) == 2 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
