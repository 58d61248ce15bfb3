package waybill_test

import (
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

type number struct{ N int }

// newClient makes a client under a prefix of its own.
func newClient(t *testing.T, rdb redis.UniversalClient, prefix string) *waybill.Client {
	t.Helper()
	c, err := waybill.NewClient(rdb, waybill.ClientOptions{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func shared(t *testing.T) *waybill.Client {
	t.Helper()
	rdb, prefix := redistest.Shared(t)
	return newClient(t, rdb, prefix)
}

// set changes settings of a queue.
func set(t *testing.T, c *waybill.Client, queue string, s waybill.QueueSettings) {
	t.Helper()
	if err := c.Queue(queue).Set(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func stats(t *testing.T, c *waybill.Client, queue string) waybill.QueueStats {
	t.Helper()
	s, err := c.Queue(queue).Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wantOutcome(t *testing.T, e waybill.Enqueued, o waybill.Outcome, sentinel error) {
	t.Helper()
	if e.Outcome != o || !errors.Is(e.Err, sentinel) {
		t.Errorf("outcome %q, error %v; want %q, %v", e.Outcome, e.Err, o, sentinel)
	}
	if e.ID == "" || e.Queue == "" {
		t.Errorf("ID %q, queue %q: both are to be told with every outcome", e.ID, e.Queue)
	}
}

func TestEnqueue_Outcomes(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), shared(t)
	kind := waybill.Define[number]("add", waybill.KindOptions{})

	t.Run("a new job is accepted and its generated ID told", func(t *testing.T) {
		e, err := kind.Enqueue(ctx, c, number{1})
		if err != nil || len(e.ID) != 19 {
			t.Fatalf("%+v, %v", e, err)
		}
		wantOutcome(t, e, waybill.OutcomeAccepted, nil)
	})
	t.Run("the same ID and payload is a duplicate, with other options too", func(t *testing.T) {
		_, _ = kind.Enqueue(ctx, c, number{1}, waybill.ID("one"))
		e, _ := kind.Enqueue(ctx, c, number{1}, waybill.ID("one"), waybill.Priority(9))
		wantOutcome(t, e, waybill.OutcomeDuplicate, nil)
		info, err := c.Queue("").Get(ctx, "one")
		if err != nil || info.Priority != 0 {
			t.Errorf("the first answer stands: priority %d, %v", info.Priority, err)
		}
	})
	t.Run("the same ID and another payload or kind is a conflict and changes nothing", func(t *testing.T) {
		e, err := kind.Enqueue(ctx, c, number{2}, waybill.ID("one"))
		wantOutcome(t, e, waybill.OutcomeConflict, waybill.ErrConflict)
		if !errors.Is(err, waybill.ErrConflict) {
			t.Errorf("error %v", err)
		}
		other := waybill.Define[number]("other", waybill.KindOptions{})
		e, _ = other.Enqueue(ctx, c, number{1}, waybill.ID("one"))
		wantOutcome(t, e, waybill.OutcomeConflict, waybill.ErrConflict)
		info, _ := c.Queue("").Get(ctx, "one")
		if string(info.Payload) != `{"N":1}` || info.Kind != "add" {
			t.Errorf("payload %s, kind %s", info.Payload, info.Kind)
		}
	})
	t.Run("a full queue rejects and says how full it is", func(t *testing.T) {
		full := kind.On("full")
		set(t, c, "full", waybill.QueueSettings{Capacity: ptr(int64(1))})
		_, _ = full.Enqueue(ctx, c, number{1})
		e, _ := full.Enqueue(ctx, c, number{2})
		wantOutcome(t, e, waybill.OutcomeRejected, waybill.ErrFull)
		var f *waybill.FullError
		if !errors.As(e.Err, &f) || f.Depth != 1 || f.Capacity != 1 || f.Queue != "full" {
			t.Errorf("%+v", f)
		}
		e, _ = full.Enqueue(ctx, c, number{3}, waybill.OnFull(waybill.FullSpill))
		wantOutcome(t, e, waybill.OutcomeSpilled, nil)
	})
	t.Run("a capacity of zero takes nothing", func(t *testing.T) {
		set(t, c, "shut", waybill.QueueSettings{Capacity: ptr(int64(0))})
		e, _ := kind.On("shut").Enqueue(ctx, c, number{1})
		wantOutcome(t, e, waybill.OutcomeRejected, waybill.ErrFull)
	})
	t.Run("who waits for room gets it when there is some", func(t *testing.T) {
		tight := kind.On("tight")
		set(t, c, "tight", waybill.QueueSettings{Capacity: ptr(int64(1))})
		first, _ := tight.Enqueue(ctx, c, number{1})
		var e waybill.Enqueued
		var waiting sync.WaitGroup
		waiting.Go(func() { e, _ = tight.Enqueue(ctx, c, number{2}, waybill.OnFull(waybill.FullWait)) })
		until(t, "the second is refused once", func() bool { return stats(t, c, "tight").Rejected > 0 })
		if err := c.Queue("tight").Delete(ctx, first.ID, waybill.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		waiting.Wait()
		wantOutcome(t, e, waybill.OutcomeWaited, nil)
	})
	t.Run("who waits in vain is rejected at the end", func(t *testing.T) {
		e, _ := kind.On("shut").Enqueue(ctx, c, number{1}, waybill.OnFull(waybill.FullPolicy(30*time.Millisecond)))
		wantOutcome(t, e, waybill.OutcomeRejected, waybill.ErrFull)
	})
}

func TestEnqueue_BadInput(t *testing.T) {
	t.Parallel()
	dead := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer dead.Close()
	c := newClient(t, dead, "")
	kind := waybill.Define[number]("add", waybill.KindOptions{})
	ok := kind.Request(number{1})
	for field, change := range map[string]func(*waybill.Request){
		"kind":         func(r *waybill.Request) { r.Kind = "" },
		"queue":        func(r *waybill.Request) { r.Queue = "a b" },
		"id":           func(r *waybill.Request) { r.ID = strings.Repeat("x", 129) },
		"priority":     func(r *waybill.Request) { r.Priority = 1001 },
		"delay":        func(r *waybill.Request) { r.Delay = -time.Second },
		"retention":    func(r *waybill.Request) { r.Retention = -1 },
		"max failures": func(r *waybill.Request) { r.MaxFailures = -2 },
		"payload":      func(r *waybill.Request) { r.Payload = make([]byte, 256<<10+1) },
		"header name":  func(r *waybill.Request) { r.Headers = map[string]string{"a b": ""} },
		"headers":      func(r *waybill.Request) { r.Headers = map[string]string{"a": strings.Repeat("x", 9000)} },
	} {
		t.Run(field+" over its limit is told before anything is sent", func(t *testing.T) {
			r := ok
			change(&r)
			e, err := c.Enqueue(t.Context(), r)
			if e.Outcome != waybill.OutcomeInvalid || !errors.Is(err, waybill.ErrInvalid) || !strings.HasPrefix(err.Error(), field) {
				t.Errorf("%q, %v", e.Outcome, err)
			}
		})
	}
	t.Run("arguments that can't be encoded are invalid", func(t *testing.T) {
		bad := waybill.Define[chan int]("chan", waybill.KindOptions{})
		e, err := bad.Enqueue(t.Context(), c, nil)
		if e.Outcome != waybill.OutcomeInvalid || !errors.Is(err, waybill.ErrInvalid) {
			t.Errorf("%q, %v", e.Outcome, err)
		}
	})
	t.Run("a good job finds Redis unavailable", func(t *testing.T) {
		e, err := c.Enqueue(t.Context(), ok)
		if e.Outcome != waybill.OutcomeUnavailable || !errors.Is(err, waybill.ErrUnavailable) {
			t.Errorf("%q, %v", e.Outcome, err)
		}
	})
	t.Run("a bad kind panics where it is declared", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		waybill.Define[number]("a b", waybill.KindOptions{})
	})
}

// R3 and G25: the reply that never came, and a bulk with repeats and invalid jobs sent again.
func TestEnqueue_LostReply(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv)
	c := newClient(t, proxy.Client(), "")
	kind := waybill.Define[number]("add", waybill.KindOptions{})

	t.Run("a lost reply is asked for again and the job accepted once", func(t *testing.T) {
		_, _ = kind.Enqueue(t.Context(), c, number{0}) // loads the script
		proxy.LoseReplies("EVALSHA", 1)
		e, err := kind.Enqueue(t.Context(), c, number{1})
		if err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, e, waybill.OutcomeAccepted, nil)
		if s := stats(t, c, ""); s.Accepted != 2 || s.Ready != 2 || proxy.Cuts() != 1 {
			t.Errorf("accepted %d, ready %d, cuts %d", s.Accepted, s.Ready, proxy.Cuts())
		}
	})
	t.Run("where every reply is lost the outcome is unknown, and the ID is told", func(t *testing.T) {
		proxy.LoseReplies("EVALSHA", 4)
		e, err := kind.Enqueue(t.Context(), c, number{2})
		if !errors.Is(err, waybill.ErrUnknown) {
			t.Fatalf("error %v", err)
		}
		wantOutcome(t, e, waybill.OutcomeUnknown, waybill.ErrUnknown)
		again, _ := kind.Enqueue(t.Context(), c, number{2}, waybill.ID(e.ID))
		wantOutcome(t, again, waybill.OutcomeDuplicate, nil)
	})
	t.Run("a bulk tells each job's outcome, and repeated adds nothing twice", func(t *testing.T) {
		requests := bulk(kind)
		proxy.LoseReplies("EVALSHA", 4) // of all tries of the first call
		first, err := c.EnqueueMany(t.Context(), requests)
		if err == nil {
			t.Fatal("no error")
		}
		count := map[waybill.Outcome]int{}
		for _, e := range first {
			count[e.Outcome]++
		}
		if count[waybill.OutcomeInvalid] != 10 || count[waybill.OutcomeUnknown] != 990 {
			t.Errorf("first: %v", count)
		}
		second, err := c.EnqueueMany(t.Context(), requests)
		var b *waybill.BulkError
		if !errors.As(err, &b) || b.Failed != 10 || b.Total != 1000 {
			t.Errorf("second: %v", err)
		}
		for i, e := range second {
			if i%100 != 7 && e.Outcome != waybill.OutcomeDuplicate {
				t.Errorf("job %d: %s %v", i, e.Outcome, e.Err)
			}
		}
		if s := stats(t, c, "bulk"); s.Accepted != 890 || s.Ready != 890 {
			t.Errorf("accepted %d, ready %d", s.Accepted, s.Ready)
		}
	})
}

// bulk makes 1,000 jobs of which 100 repeat an ID and 10 others are invalid.
func bulk(kind *waybill.Kind[number]) []waybill.Request {
	var out []waybill.Request
	for i := range 1000 {
		n := i
		if i%10 == 3 {
			n = i - 1
		}
		r := kind.On("bulk").Request(number{n}, waybill.ID(fmt.Sprintf("job-%d", n)))
		if i%100 == 7 {
			r.Priority = 5000
		}
		out = append(out, r)
	}
	return out
}

func TestEnqueue_ServerRefuses(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	rdb := srv.Client()
	c := newClient(t, rdb, "")
	kind := waybill.Define[number]("add", waybill.KindOptions{})
	for reason, config := range map[string][2]string{
		"out of memory":    {"maxmemory", "1"},
		"too few replicas": {"min-replicas-to-write", "1"},
	} {
		t.Run(reason+": told as unavailable, nothing happened", func(t *testing.T) {
			old := rdb.ConfigGet(t.Context(), config[0]).Val()[config[0]]
			rdb.ConfigSet(t.Context(), config[0], config[1])
			e, err := kind.Enqueue(t.Context(), c, number{1})
			rdb.ConfigSet(context.Background(), config[0], old)
			if e.Outcome != waybill.OutcomeUnavailable || !errors.Is(err, waybill.ErrUnavailable) {
				t.Errorf("%q, %v", e.Outcome, err)
			}
			if s := stats(t, c, ""); s.Live() != 0 {
				t.Errorf("live %d", s.Live())
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

// until waits for a condition that other goroutines or processes bring about, and fails after 20 s.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ; !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}
