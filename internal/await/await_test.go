package await_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/await"
	"github.com/waybillhq/waybill/internal/store"
)

// queue is a store.Queue whose jobs end as a test says.
type queue struct {
	mu    sync.Mutex
	ends  map[string]store.JobEnd // StateNone where there is no entry
	err   error
	looks int // IDs asked for
	hear  func(string)
}

func (q *queue) Ends(_ context.Context, ids []string) ([]store.JobEnd, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.looks += len(ids)
	if q.err != nil {
		return nil, q.err
	}
	out := make([]store.JobEnd, len(ids))
	for i, id := range ids {
		out[i] = q.ends[id]
	}
	return out, nil
}

func (q *queue) Follow(_ store.Channel, hear func(string)) (stop func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hear = hear
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.hear = nil
	}
}

func (q *queue) end(id string, e store.JobEnd) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ends == nil {
		q.ends = map[string]store.JobEnd{}
	}
	q.ends[id] = e
}

func (q *queue) say(line string) bool {
	q.mu.Lock()
	hear := q.hear
	q.mu.Unlock()
	if hear != nil {
		hear(line)
	}
	return hear != nil
}

func (q *queue) looked() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.looks
}

var completed = store.JobEnd{State: store.CompletedState, Result: []byte("7")}

// waiting is a wait under way, and what it gives.
type waiting struct {
	end  store.JobEnd
	err  error
	took time.Duration
	over bool
}

func begin(ctx context.Context, w *await.Waits, id string) *waiting {
	out := &waiting{}
	began := time.Now()
	go func() {
		end, err := w.Wait(ctx, id)
		*out = waiting{end: end, err: err, took: time.Since(began), over: true}
	}()
	synctest.Wait()
	return out
}

func TestWaits(t *testing.T) {
	run := func(name string, test func(t *testing.T, q *queue, w *await.Waits)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &queue{}
				w := await.New(q)
				defer w.Close()
				test(t, q, w)
			})
		})
	}
	run("a job that ended before is answered by the first look", func(t *testing.T, q *queue, w *await.Waits) {
		q.end("a", completed)
		if got := begin(t.Context(), w, "a"); !got.over || got.took != 0 || string(got.end.Result) != "7" {
			t.Errorf("%+v", got)
		}
	})
	run("a notice is answered at once", func(t *testing.T, q *queue, w *await.Waits) {
		got := begin(t.Context(), w, "a")
		q.end("a", completed)
		q.say("b completed")
		synctest.Wait()
		if got.over {
			t.Fatal("another job's notice ended the wait")
		}
		q.say("a completed")
		synctest.Wait()
		if !got.over || got.took != 0 {
			t.Errorf("%+v", got)
		}
	})
	run("a notice is no proof: the job must have ended", func(t *testing.T, q *queue, w *await.Waits) {
		got := begin(t.Context(), w, "a")
		q.say("a completed")
		synctest.Wait()
		if got.over {
			t.Errorf("%+v", got)
		}
	})
	run("with every notice lost the timer finds the end", func(t *testing.T, q *queue, w *await.Waits) {
		got := begin(t.Context(), w, "a")
		q.end("a", completed)
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		if !got.over {
			t.Error("still waiting after 1.5 s")
		}
	})
	run("where the channel is joined anew all jobs are looked at", func(t *testing.T, q *queue, w *await.Waits) {
		a, b := begin(t.Context(), w, "a"), begin(t.Context(), w, "b")
		q.end("a", completed)
		q.end("b", store.JobEnd{State: store.GoneState})
		q.say("")
		synctest.Wait()
		if !a.over || !b.over || a.took != 0 || b.end.State != store.GoneState {
			t.Errorf("%+v %+v", a, b)
		}
	})
	run("all who wait for one job are answered", func(t *testing.T, q *queue, w *await.Waits) {
		a, b := begin(t.Context(), w, "a"), begin(t.Context(), w, "a")
		q.end("a", completed)
		q.say("a completed")
		synctest.Wait()
		if !a.over || !b.over {
			t.Errorf("%+v %+v", a, b)
		}
	})
	run("a context that ends ends its own wait alone", func(t *testing.T, q *queue, w *await.Waits) {
		ctx, cancel := context.WithCancel(t.Context())
		a, b := begin(ctx, w, "a"), begin(t.Context(), w, "a")
		cancel()
		synctest.Wait()
		if !a.over || !errors.Is(a.err, context.Canceled) || b.over {
			t.Errorf("%+v %+v", a, b)
		}
	})
	run("redis away is waited out, and told where the context ends first", func(t *testing.T, q *queue, w *await.Waits) {
		away := errors.New("redis is away")
		q.err = away
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		a, b := begin(ctx, w, "a"), begin(t.Context(), w, "b")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !errors.Is(a.err, away) || !errors.Is(a.err, context.DeadlineExceeded) || b.over {
			t.Errorf("%+v %+v", a, b)
		}
		q.mu.Lock()
		q.err = nil
		q.mu.Unlock()
		q.end("b", completed)
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		if !b.over || b.err != nil {
			t.Errorf("%+v", b)
		}
	})
	run("nothing is heard any more ten seconds after the last wait, and a new wait hears again", func(t *testing.T, q *queue, w *await.Waits) {
		q.end("a", completed)
		begin(t.Context(), w, "a")
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if q.say("") {
			t.Error("still following")
		}
		begin(t.Context(), w, "b")
		if !q.say("") {
			t.Error("not following")
		}
	})
	run("many who wait for one job make few looks", func(t *testing.T, q *queue, w *await.Waits) {
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() { _, _ = w.Wait(ctx, "a") })
		}
		synctest.Wait()
		q.say("a completed")
		q.say("a completed")
		synctest.Wait()
		if got := q.looked(); got > 200 {
			t.Errorf("%d looks for 1,000 waits and 2 notices", got)
		}
		cancel()
		all.Wait()
	})
	run("looks do not pile up while redis is away, and none is made for who has left", func(t *testing.T, q *queue, w *await.Waits) {
		q.err = errors.New("away")
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() { _, _ = w.Wait(ctx, fmt.Sprint(i)) })
		}
		synctest.Wait()
		cancel()
		all.Wait()
		before := q.looked()
		time.Sleep(5 * time.Second)
		if got := q.looked() - before; got != 0 {
			t.Errorf("%d looks for nobody", got)
		}
	})
	run("Close ends every wait, and refuses new ones", func(t *testing.T, _ *queue, w *await.Waits) {
		a := begin(t.Context(), w, "a")
		w.Close()
		synctest.Wait()
		b := begin(t.Context(), w, "b")
		if !errors.Is(a.err, await.ErrClosed) || !errors.Is(b.err, await.ErrClosed) {
			t.Errorf("%+v %+v", a, b)
		}
	})
	run("ten thousand waits look at most 2,000 times a second", func(t *testing.T, q *queue, w *await.Waits) {
		const n = 10_000
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { _, _ = w.Wait(ctx, fmt.Sprint(i)) })
		}
		synctest.Wait()
		before := q.looked()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if got := q.looked() - before; got > 45_000 || got < n {
			t.Errorf("%d looks in 20 s", got)
		}
		cancel()
		all.Wait()
	})
}
