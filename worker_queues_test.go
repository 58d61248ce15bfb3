package waybill_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// wantInvalid expects ErrInvalid with a text in it.
func wantInvalid(t *testing.T, err error, text string) {
	t.Helper()
	if !errors.Is(err, waybill.ErrInvalid) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v; want one about %q", err, text)
	}
}

func TestWorker_Options(t *testing.T) {
	t.Parallel()
	c := shared(t)
	for text, o := range map[string]waybill.WorkerOptions{
		"concurrency: is -1":             {Concurrency: -1},
		"poll interval: is 2h0m0s":       {PollInterval: 2 * time.Hour},
		"poll interval: is 1ms":          {PollInterval: time.Millisecond},
		"queues: name q twice":           {Queues: []waybill.QueueOptions{{Name: "q"}, {Name: "q"}}},
		"queues: name default twice":     {Queues: []waybill.QueueOptions{{Name: "default"}, {}}},
		"weight of queue q: is -1":       {Queues: []waybill.QueueOptions{{Name: "q", Weight: -1}}},
		"concurrency of queue q: is -10": {Queues: []waybill.QueueOptions{{Name: "q", Concurrency: -10}}},
	} {
		t.Run(text, func(t *testing.T) {
			_, err := waybill.NewWorker(c, o)
			wantInvalid(t, err, text)
		})
	}
	t.Run("every kind has no concurrency of its own", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("it was accepted")
			}
		}()
		newWorker(t, c, waybill.WorkerOptions{}).HandleFunc(waybill.AnyKind, waybill.KindOptions{Concurrency: 1}, nil)
	})
}

// gauge counts what runs at a time.
type gauge struct{ now, most, all atomic.Int64 }

func (g *gauge) handle(context.Context, *waybill.Job[number]) error {
	n := g.now.Add(1)
	defer g.now.Add(-1)
	g.all.Add(1)
	for most := g.most.Load(); n > most && !g.most.CompareAndSwap(most, n); most = g.most.Load() {
	}
	<-time.After(5 * time.Millisecond)
	return nil
}

func TestWorker_Concurrency(t *testing.T) {
	t.Parallel()
	queues := []waybill.QueueOptions{{Name: "a", Concurrency: 6}, {Name: "b", Concurrency: 6}}
	t.Run("that of the worker holds over all queues", func(t *testing.T) {
		t.Parallel()
		c := shared(t)
		kind := waybill.Define[number]("k", waybill.KindOptions{})
		w, g := newWorker(t, c, waybill.WorkerOptions{Queues: append(queues, waybill.QueueOptions{}), Concurrency: 4}), &gauge{}
		kind.Handle(w, g.handle)
		for _, q := range queues {
			if _, err := kind.On(q.Name).EnqueueMany(t.Context(), c, make([]number, 100)); err != nil {
				t.Fatal(err)
			}
		}
		start(t, w)
		until(t, "all have run", func() bool { return g.all.Load() == 200 })
		if n := g.most.Load(); n != 4 {
			t.Errorf("%d at a time", n)
		}
	})
	t.Run("that of a kind too, and its jobs do not stand in the way of others", func(t *testing.T) {
		t.Parallel()
		c := shared(t)
		few := waybill.Define[number]("few", waybill.KindOptions{Concurrency: 2})
		many := waybill.Define[number]("many", waybill.KindOptions{})
		w := newWorker(t, c, waybill.WorkerOptions{Queues: append(queues, waybill.QueueOptions{}), PollInterval: time.Hour})
		fewer, more := &gauge{}, &gauge{}
		few.Handle(w, fewer.handle)
		many.Handle(w, more.handle)
		for _, q := range queues {
			for _, k := range []*waybill.Kind[number]{few, many} {
				if _, err := k.On(q.Name).EnqueueMany(t.Context(), c, make([]number, 50)); err != nil {
					t.Fatal(err)
				}
			}
		}
		start(t, w)
		until(t, "all have run", func() bool { return fewer.all.Load()+more.all.Load() == 200 })
		if fewer.most.Load() > 2 || more.most.Load() < 3 {
			t.Errorf("%d of the kind with a bound at a time, %d of the other", fewer.most.Load(), more.most.Load())
		}
	})
}

func TestWorker_Queues(t *testing.T) {
	t.Parallel()
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	send := func(t *testing.T, c *waybill.Client, queue string) string {
		t.Helper()
		e, err := kind.On(queue).Enqueue(t.Context(), c, number{1}, waybill.Retention(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	t.Run("a queue is added and dropped while the worker runs", func(t *testing.T) {
		t.Parallel()
		c := shared(t)
		w := newWorker(t, c, waybill.WorkerOptions{})
		kind.Handle(w, func(context.Context, *waybill.Job[number]) error { return nil })
		stop := start(t, w)
		await(t, c, "default", send(t, c, "default"), waybill.StateCompleted)
		for range 3 {
			if err := w.AddQueue(waybill.QueueOptions{Name: "more"}); err != nil {
				t.Fatal(err)
			}
			await(t, c, "more", send(t, c, "more"), waybill.StateCompleted)
			wantInvalid(t, w.AddQueue(waybill.QueueOptions{Name: "more"}), "more is worked off already")
			if err := w.DropQueue(t.Context(), "more"); err != nil {
				t.Fatal(err)
			}
			wantInvalid(t, w.DropQueue(t.Context(), "more"), "more is not worked off")
		}
		id := send(t, c, "more")
		await(t, c, "default", send(t, c, "default"), waybill.StateCompleted)
		if info := await(t, c, "more", id, waybill.StateReady); info.Attempt != 0 {
			t.Errorf("a queue that was dropped is worked off: %+v", info)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if err := w.AddQueue(waybill.QueueOptions{Name: "late"}); err == nil {
			t.Error("a worker that has ended took a queue")
		}
	})
	t.Run("a drop waits for the handlers, and goes on where its context ends", func(t *testing.T) {
		t.Parallel()
		c := shared(t)
		w := newWorker(t, c, waybill.WorkerOptions{PollInterval: time.Hour}) // no claim is under way when it turns quiet
		goOn := make(chan struct{})
		kind.Handle(w, func(context.Context, *waybill.Job[number]) error {
			<-goOn
			return nil
		})
		start(t, w)
		id := send(t, c, "default")
		until(t, "its handler runs", func() bool { return len(w.Running()) == 1 })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.DropQueue(ctx, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("drop: %v", err)
		}
		close(goOn)
		await(t, c, "default", id, waybill.StateCompleted)
	})
	t.Run("a handler that outlasts its dropped queue is seen, holds up no other, and counts when it is back", func(t *testing.T) {
		t.Parallel()
		c := shared(t)
		w := newWorker(t, c, waybill.WorkerOptions{
			Grace: time.Millisecond, Queues: []waybill.QueueOptions{{Name: "a", Concurrency: 1}, {Name: "b", Concurrency: 1}},
		})
		goOn := make(chan struct{})
		kind.On("a").Handle(w, func(_ context.Context, job *waybill.Job[number]) error {
			if job.Queue == "a" {
				<-goOn
			}
			return nil
		})
		start(t, w)
		send(t, c, "a")
		until(t, "its handler runs", func() bool { return len(w.Running()) == 1 })
		if err := w.DropQueue(t.Context(), "a"); !errors.Is(err, waybill.ErrUnfinished) {
			t.Errorf("drop: %v", err)
		}
		await(t, c, "b", send(t, c, "b"), waybill.StateCompleted)
		if is := w.Running(); len(is) != 1 || is[0].Queue != "a" {
			t.Errorf("running: %+v", is)
		}
		if err := w.AddQueue(waybill.QueueOptions{Name: "a", Concurrency: 1}); err != nil {
			t.Fatal(err)
		}
		more := send(t, c, "a")
		await(t, c, "b", send(t, c, "b"), waybill.StateCompleted)
		if is := w.Running(); len(is) != 1 {
			t.Errorf("a queue of one slot runs %+v", is)
		}
		close(goOn)
		await(t, c, "a", more, waybill.StateCompleted)
	})
	t.Run("a queue with a name that is none ends Run before work begins on any", func(t *testing.T) {
		t.Parallel()
		c := shared(t)
		w := newWorker(t, c, waybill.WorkerOptions{})
		for _, queue := range []string{"a", "b ad"} {
			w.HandleFunc("on "+queue, waybill.KindOptions{Queue: queue}, func(context.Context, *waybill.Attempt) ([]byte, error) { return nil, nil })
		}
		wantInvalid(t, w.Run(t.Context()), "queue")
		if names := w.Queues(); len(names) != 0 {
			t.Errorf("it works off %v", names)
		}
	})
	t.Run("before Run the list is changed", func(t *testing.T) {
		t.Parallel()
		c := shared(t)
		w := newWorker(t, c, waybill.WorkerOptions{Queues: []waybill.QueueOptions{{Name: "a"}, {}}})
		kind.Handle(w, func(context.Context, *waybill.Job[number]) error { return nil })
		if err := errors.Join(w.AddQueue(waybill.QueueOptions{Name: "b"}), w.DropQueue(t.Context(), "a")); err != nil {
			t.Fatal(err)
		}
		wantInvalid(t, w.AddQueue(waybill.QueueOptions{Name: "b"}), "b is worked off already")
		start(t, w)
		await(t, c, "b", send(t, c, "b"), waybill.StateCompleted)
		if names := w.Queues(); !slices.Equal(names, []string{"b", "default"}) {
			t.Errorf("queues %v", names)
		}
	})
	t.Run("quiet, it finishes what runs, takes nothing new, and Run goes on", func(t *testing.T) {
		t.Parallel()
		c := shared(t)
		w := newWorker(t, c, waybill.WorkerOptions{Concurrency: 1}) // so that no claim for more is under way
		goOn := make(chan struct{})
		kind.Handle(w, func(context.Context, *waybill.Job[number]) error {
			<-goOn
			return nil
		})
		stop := start(t, w)
		first := send(t, c, "default")
		until(t, "its handler runs", func() bool { return len(w.Running()) == 1 })
		if is := w.Running(); len(is) != 1 || is[0].ID != first || is[0].Queue != "default" || is[0].Kind != "k" || is[0].Attempt != 1 {
			t.Errorf("running: %+v", is)
		}
		w.Quiet()
		second := send(t, c, "default")
		close(goOn)
		await(t, c, "default", first, waybill.StateCompleted)
		if err := w.AddQueue(waybill.QueueOptions{Name: "more"}); err != nil { // it is quiet as well
			t.Fatal(err)
		}
		more := send(t, c, "more")
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		for queue, id := range map[string]string{"default": second, "more": more} {
			info, err := c.Queue(queue).Get(t.Context(), id)
			if err != nil || info.State != waybill.StateReady || info.Attempt != 0 {
				t.Errorf("%s: %+v, %v", queue, info, err)
			}
		}
	})
}

// 500 queues on one worker with a pool of ten connections: each job is picked up, by few calls.
func TestWorker_ManyQueues(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	o, err := redis.ParseURL(srv.URL())
	if err != nil {
		t.Fatal(err)
	}
	o.PoolSize = 10
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	c := newClient(t, rdb, "")
	kind := waybill.Define[number]("k", waybill.KindOptions{Queue: "q0"})
	var queues []waybill.QueueOptions
	for i := range 500 {
		queues = append(queues, waybill.QueueOptions{Name: fmt.Sprint("q", i)})
	}
	w := newWorker(t, c, waybill.WorkerOptions{Queues: queues, Concurrency: 20})
	var done sync.Map
	var n atomic.Int64
	kind.Handle(w, func(_ context.Context, job *waybill.Job[number]) error {
		if _, twice := done.LoadOrStore(job.ID, true); !twice {
			n.Add(1)
		}
		return nil
	})
	start(t, w)
	until(t, "all queues were looked at", func() bool { return len(rdb.Keys(t.Context(), "wb:*claims").Val()) == 500 })
	for round := range int64(3) {
		var requests []waybill.Request
		for _, q := range queues {
			requests = append(requests, kind.On(q.Name).Request(number{int(round)}))
		}
		began := time.Now()
		if _, err := c.EnqueueMany(t.Context(), requests); err != nil {
			t.Fatal(err)
		}
		until(t, "the jobs of all queues have run", func() bool { return n.Load() == 500*(round+1) })
		t.Logf("500 jobs in 500 queues took %s", time.Since(began))
	}
	if clients := rdb.Info(t.Context(), "clients").Val(); !strings.Contains(clients, "connected_clients:") || w.Running() != nil {
		t.Errorf("%s, running %v", clients, w.Running())
	}
}
