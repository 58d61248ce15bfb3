package waybill_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// calls counts script calls by verb, as a hook of a Redis client.
type calls struct {
	mu     sync.Mutex
	verbs  map[string]string
	counts map[string]int
}

func count(rdb redis.UniversalClient) *calls {
	c := &calls{verbs: store.Digests(), counts: map[string]int{}}
	rdb.AddHook(c)
	return c
}

func (c *calls) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *calls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (c *calls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.mu.Lock()
		name := cmd.Name()
		if sha, ok := cmd.Args()[min(1, len(cmd.Args())-1)].(string); ok && name == "evalsha" {
			name = c.verbs[sha]
		}
		c.counts[name]++
		c.mu.Unlock()
		return next(ctx, cmd)
	}
}

func (c *calls) of(verb string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[verb]
}

func TestClient_SharesCalls(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	rdb := srv.Client()
	made := count(rdb)
	c := newClient(t, rdb, "wb")
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	if _, err := kind.Enqueue(t.Context(), c, number{}); err != nil { // loads the script
		t.Fatal(err)
	}
	t.Run("a lone caller makes one call a job", func(t *testing.T) {
		before := made.of("enqueue")
		for range 10 {
			if _, err := kind.Enqueue(t.Context(), c, number{}); err != nil {
				t.Fatal(err)
			}
		}
		if got := made.of("enqueue") - before; got != 10 {
			t.Errorf("%d calls for 10 jobs", got)
		}
	})
	t.Run("fifty callers share few, and each is told of its own job", func(t *testing.T) {
		before := made.of("enqueue")
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				for j := range 20 {
					id := fmt.Sprintf("%d/%d", i, j)
					e, err := kind.Enqueue(t.Context(), c, number{j}, waybill.ID(id))
					if err != nil || e.ID != id || e.Outcome != waybill.OutcomeAccepted {
						t.Errorf("%+v, %v", e, err)
					}
				}
			})
		}
		all.Wait()
		if got := made.of("enqueue") - before; got > 300 {
			t.Errorf("%d calls for 1,000 jobs of 50 callers", got)
		}
		e, _ := kind.Enqueue(t.Context(), c, number{1}, waybill.ID("7/9"))
		wantOutcome(t, e, waybill.OutcomeConflict, waybill.ErrConflict)
	})
	t.Run("a bulk larger than a call is cut, in order", func(t *testing.T) {
		jobs := make([]waybill.Request, 3000)
		for i := range jobs {
			jobs[i] = kind.On("bulk").Request(number{i}, waybill.ID(fmt.Sprint(i)))
		}
		before := made.of("enqueue")
		if _, err := c.EnqueueMany(t.Context(), jobs); err != nil {
			t.Fatal(err)
		}
		if got := made.of("enqueue") - before; got < 3 || got > 4 {
			t.Errorf("%d calls for 3,000 jobs", got)
		}
		first, err := rdb.LIndex(t.Context(), "wb:{bulk}:ready", 0).Result()
		if err != nil || first[len(first)-2:] != ":0" {
			t.Errorf("first is %q, %v", first, err)
		}
	})
}

func TestClient_ContextEndsWhileRedisIsFrozen(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	rdb := srv.Client()
	made := count(rdb)
	c := newClient(t, rdb, "wb")
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	if _, err := kind.Enqueue(t.Context(), c, number{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the queue is listed", func() bool { return len(must(c.Queues(t.Context()))) == 1 })
	srv.Stop()
	before, began := made.of("enqueue"), time.Now()
	told := map[string]waybill.Enqueued{}
	var mu sync.Mutex
	var all sync.WaitGroup
	send := func(id string) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		e, _ := kind.Enqueue(ctx, c, number{}, waybill.ID(id))
		mu.Lock()
		defer mu.Unlock()
		told[id] = e
	}
	all.Go(func() { send("a") })
	until(t, "the first is on its way", func() bool { return made.of("enqueue") > before })
	all.Go(func() { send("b") })
	all.Wait()
	took := time.Since(began)
	srv.Cont()
	if took > time.Second {
		t.Errorf("200 ms of patience took %s", took)
	}
	sent, held := told["a"], told["b"]
	wantOutcome(t, sent, waybill.OutcomeUnknown, waybill.ErrUnknown)
	wantOutcome(t, held, waybill.OutcomeUnavailable, waybill.ErrUnavailable)
	for _, e := range told {
		if !errors.Is(e.Err, context.DeadlineExceeded) {
			t.Errorf("%s: that the context ended is told: %v", e.ID, e.Err)
		}
	}
	e, err := kind.Enqueue(t.Context(), c, number{}, waybill.ID("c"))
	if err != nil {
		t.Fatalf("another caller is not harmed: %+v, %v", e, err)
	}
	if _, err := c.Queue("").Get(t.Context(), held.ID); !errors.Is(err, waybill.ErrNotFound) {
		t.Errorf("nothing happened, it was said: %v", err)
	}
	if _, err := c.Queue("").Get(t.Context(), sent.ID); err != nil {
		t.Errorf("unknown, it was said; Redis took it: %v", err)
	}
}

func TestClient_Use(t *testing.T) {
	t.Parallel()
	c := shared(t)
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	refused := errors.New("no tenant")
	c.Use(func(next waybill.Enqueuer) waybill.Enqueuer {
		return func(ctx context.Context, requests []waybill.Request) []waybill.Enqueued {
			for i := range requests {
				if requests[i].ID == "" || requests[i].Queue == "" {
					t.Errorf("a request without its name: %+v", requests[i])
				}
				if requests[i].Queue == "refused" {
					return []waybill.Enqueued{{Err: refused, Outcome: waybill.OutcomeInvalid}}
				}
				if requests[i].Queue == "lost" {
					return nil
				}
				waybill.Header("tenant", "t1")(&requests[i])
			}
			return next(ctx, requests)
		}
	})
	t.Run("it changes what is sent, and the caller's request stays as it was", func(t *testing.T) {
		r := kind.Request(number{1})
		e, err := c.Enqueue(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		info, err := c.Queue("").Get(t.Context(), e.ID)
		if err != nil || info.Headers["tenant"] != "t1" || r.Headers != nil || r.ID != "" {
			t.Errorf("headers %v, request %+v, %v", info.Headers, r, err)
		}
	})
	t.Run("it may refuse", func(t *testing.T) {
		if _, err := kind.On("refused").Enqueue(t.Context(), c, number{1}); !errors.Is(err, refused) {
			t.Error(err)
		}
	})
	t.Run("an answer it loses is told as unknown", func(t *testing.T) {
		e, _ := kind.On("lost").Enqueue(t.Context(), c, number{1})
		wantOutcome(t, e, waybill.OutcomeUnknown, waybill.ErrUnknown)
	})
}

func TestClient_Close(t *testing.T) {
	t.Parallel()
	rdb, prefix := redistest.Shared(t)
	c := newClient(t, rdb, prefix)
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	waits := make(chan error)
	go func() { waits <- kind.Wait(t.Context(), c, must(kind.Enqueue(t.Context(), c, number{1})).ID) }()
	until(t, "the wait is under way", func() bool { return stats(t, c, "").Ready == 1 })
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; !errors.Is(err, waybill.ErrUnavailable) {
		t.Errorf("the wait gave %v", err)
	}
	e, _ := kind.Enqueue(t.Context(), c, number{1})
	wantOutcome(t, e, waybill.OutcomeUnavailable, waybill.ErrUnavailable)
	if err := rdb.Ping(t.Context()).Err(); err != nil {
		t.Errorf("the Redis client is the caller's: %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
