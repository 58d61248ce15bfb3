package waybill_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

func TestEnqueue_ArgumentsAreTheCallersAgain(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	c := newClient(t, srv.Client(), "wb")
	blob := waybill.Define[[]byte]("blob", waybill.KindOptions{})
	if _, err := blob.Enqueue(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	until(t, "the queue is listed", func() bool { return len(must(c.Queues(t.Context()))) == 1 })
	srv.Stop()
	payload, headers := bytes.Repeat([]byte("a"), 1<<16), map[string]string{"h": "1"}
	r := blob.Request(payload, waybill.ID("x"))
	r.Headers = headers
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	e, _ := c.Enqueue(ctx, r)
	for i := range payload { // the call has returned
		payload[i] = 'b'
	}
	headers["h"] = "2"
	srv.Cont()
	wantOutcome(t, e, waybill.OutcomeUnknown, waybill.ErrUnknown)
	until(t, "the job is there", func() bool {
		info, err := c.Queue("").Get(t.Context(), "x")
		if err == nil && (bytes.ContainsRune(info.Payload, 'b') || info.Headers["h"] != "1") {
			t.Fatal("what is stored was changed after the call")
		}
		return err == nil
	})
	e, err := blob.Enqueue(t.Context(), c, bytes.Repeat([]byte("a"), 1<<16), waybill.ID("x"))
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, e, waybill.OutcomeDuplicate, nil)
}

func TestEnqueue_FullAfterALostReply(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	direct := newClient(t, srv.Client(), "wb")
	proxy := redistest.NewProxy(t, srv)
	c := newClient(t, proxy.Client(), "wb")
	set(t, direct, "default", waybill.QueueSettings{Capacity: ptr(int64(1))})
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	if _, err := kind.On("other").Enqueue(t.Context(), c, number{1}); err != nil { // loads the script
		t.Fatal(err)
	}
	asked := 0
	proxy.LoseWhere(func(request []byte) bool {
		if !bytes.Contains(request, []byte("reject")) {
			return false
		}
		if asked++; asked == 2 { // the first has been carried out; its job is gone again, and another took the place
			if err := direct.Queue("").Delete(t.Context(), "x", waybill.DeleteOptions{Forget: true}); err != nil {
				t.Error(err)
			}
			if _, err := kind.Enqueue(t.Context(), direct, number{2}); err != nil {
				t.Error(err)
			}
		}
		return asked == 1
	})
	e, _ := kind.Enqueue(t.Context(), c, number{1}, waybill.ID("x"))
	wantOutcome(t, e, waybill.OutcomeUnknown, waybill.ErrUnknown)
}

func TestClient_CloseIsABarrier(t *testing.T) {
	t.Parallel()
	rdb, prefix := redistest.Shared(t)
	c, other := newClient(t, rdb, prefix), newClient(t, rdb, prefix)
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	set(t, other, "full", waybill.QueueSettings{Capacity: ptr(int64(0))})
	var all sync.WaitGroup
	all.Go(func() {
		_, _ = kind.EnqueueMany(t.Context(), c, make([]number, 20_000))
	})
	all.Go(func() {
		e, err := kind.On("full").Enqueue(t.Context(), c, number{1}, waybill.OnFull(waybill.FullWait))
		if !errors.Is(err, waybill.ErrFull) || !strings.Contains(err.Error(), "closed") {
			t.Errorf("who waits for room is told %s, %v", e.Outcome, err)
		}
	})
	until(t, "both are under way", func() bool {
		return stats(t, other, "").Accepted > 0 && stats(t, other, "full").Rejected > 0
	})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	before := stats(t, other, "")
	all.Wait()
	if after := stats(t, other, ""); after.Accepted != before.Accepted {
		t.Errorf("%d jobs came after Close returned", after.Accepted-before.Accepted)
	}
	if err := kind.On("new").Wait(t.Context(), c, "x"); !errors.Is(err, waybill.ErrUnavailable) {
		t.Errorf("a wait after Close gave %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("a second Close gave %v", err)
	}
}

func TestNewClient_Ring(t *testing.T) {
	t.Parallel()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	t.Cleanup(func() { _ = ring.Close() })
	if _, err := waybill.NewClient(ring, waybill.ClientOptions{}); !errors.Is(err, waybill.ErrInvalid) {
		t.Errorf("a ring is taken: %v", err)
	}
}

func TestQueue_LostReplyIsNotRefusal(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv)
	c := newClient(t, proxy.Client(), "wb")
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	for name, do := range map[string]func(q *waybill.Queue) error{
		"cancel":  func(q *waybill.Queue) error { return q.Cancel(t.Context(), "x", "") },
		"promote": func(q *waybill.Queue) error { return q.Promote(t.Context(), "x") },
		"delete":  func(q *waybill.Queue) error { return q.Delete(t.Context(), "x", waybill.DeleteOptions{}) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := kind.On(name).Enqueue(t.Context(), c, number{1}, waybill.ID("x"), waybill.After(time.Hour)); err != nil {
				t.Fatal(err)
			}
			_ = c.Queue(name).Promote(t.Context(), "loads the script")
			_ = c.Queue(name).Cancel(t.Context(), "loads the script", "")
			_ = c.Queue(name).Delete(t.Context(), "loads the script", waybill.DeleteOptions{})
			proxy.LoseReplies("EVALSHA", 1)
			if err := do(c.Queue(name)); !errors.Is(err, waybill.ErrUnknown) || errors.Is(err, waybill.ErrState) || errors.Is(err, waybill.ErrNotFound) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestClient_UseAnswers(t *testing.T) {
	t.Parallel()
	rdb, prefix := redistest.Shared(t)
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	for name, middle := range map[string]waybill.EnqueueMiddleware{
		"nothing said": func(waybill.Enqueuer) waybill.Enqueuer {
			return func(_ context.Context, r []waybill.Request) []waybill.Enqueued {
				return make([]waybill.Enqueued, len(r))
			}
		},
		"refused without an error": func(waybill.Enqueuer) waybill.Enqueuer {
			return func(_ context.Context, r []waybill.Request) []waybill.Enqueued {
				return slicesOf(len(r), waybill.Enqueued{Outcome: waybill.OutcomeRejected})
			}
		},
		"one left out": func(next waybill.Enqueuer) waybill.Enqueuer {
			return func(ctx context.Context, r []waybill.Request) []waybill.Enqueued { return next(ctx, r[1:]) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, rdb, prefix+name[:1])
			c.Use(middle)
			out, err := kind.EnqueueMany(t.Context(), c, []number{{1}, {2}})
			if err == nil || len(out) != 2 {
				t.Fatalf("%+v, %v", out, err)
			}
			for _, e := range out {
				wantOutcome(t, e, waybill.OutcomeUnknown, waybill.ErrUnknown)
			}
		})
	}
}

func slicesOf[T any](n int, v T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func TestEnqueue_ConnectionsCutWithoutAClose(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv)
	rdb := proxy.Client()
	c := newClient(t, rdb, "wb")
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	var all sync.WaitGroup
	for i := range 8 { // eight connections idle in the pool
		all.Go(func() {
			if _, err := kind.On(fmt.Sprint("q", i)).Enqueue(t.Context(), c, number{1}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	proxy.Silence()
	began := time.Now()
	if _, err := kind.Enqueue(t.Context(), c, number{1}); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("with %d idle connections cut it took %s", rdb.PoolStats().TotalConns, took)
	}
}

// named by a method of the pointer.
type named struct{ ID string }

func (n *named) JobID() string { return n.ID }

func TestRequest_IDs(t *testing.T) {
	t.Parallel()
	c := shared(t)
	t.Run("from a method of the pointer", func(t *testing.T) {
		kind := waybill.Define[named]("k", waybill.KindOptions{})
		if e, err := kind.Enqueue(t.Context(), c, named{"a"}); err != nil || e.ID != "a" {
			t.Errorf("%+v, %v", e, err)
		}
	})
	t.Run("an empty one that was given is invalid", func(t *testing.T) {
		kind := waybill.Define[number]("k", waybill.KindOptions{})
		e, err := kind.Enqueue(t.Context(), c, number{1}, waybill.ID(""))
		if e.Outcome != waybill.OutcomeInvalid || !errors.Is(err, waybill.ErrInvalid) {
			t.Errorf("%+v, %v", e, err)
		}
	})
	t.Run("of a long cause are shortened, and stay the same", func(t *testing.T) {
		kind := waybill.Define[number]("k", waybill.KindOptions{})
		cause := &waybill.Attempt{ID: strings.Repeat("x", 100)}
		for _, want := range []waybill.Outcome{waybill.OutcomeAccepted, waybill.OutcomeDuplicate} {
			e, err := kind.Enqueue(t.Context(), c, number{1}, waybill.CausedBy(cause, "a step with a name of its own, of more than 28 bytes"))
			if err != nil {
				t.Fatal(err)
			}
			wantOutcome(t, e, want, nil)
		}
	})
	t.Run("a policy that is none is invalid", func(t *testing.T) {
		kind := waybill.Define[number]("k", waybill.KindOptions{})
		if _, err := kind.Enqueue(t.Context(), c, number{1}, waybill.OnFull(-5)); !errors.Is(err, waybill.ErrInvalid) {
			t.Error(err)
		}
	})
	t.Run("nothing is sent under a context that has ended", func(t *testing.T) {
		kind := waybill.Define[number]("k", waybill.KindOptions{Queue: "never"})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			e, _ := kind.Enqueue(ctx, c, number{1})
			wantOutcome(t, e, waybill.OutcomeUnavailable, waybill.ErrUnavailable)
		}
		if n := stats(t, c, "never").Accepted; n != 0 {
			t.Errorf("%d were sent", n)
		}
	})
}
