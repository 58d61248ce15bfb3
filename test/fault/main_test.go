package fault_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

func TestMain(m *testing.M) {
	logging.Disable() // servers are killed here; what comes of it is returned too
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil { // they wait more than they compute
		panic(err)
	}
	redistest.Main(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// queue is the queue of every test here, on a server of the test's own.
const queue = "q"

// rig is one test's Redis behind a proxy, with a client through it and one beside it.
type rig struct {
	t      *testing.T
	server *redistest.Server
	proxy  *redistest.Proxy
	rdb    *redis.Client   // through the proxy
	client *waybill.Client // through the proxy
	beside *waybill.Client // of the test itself, straight to the server
	direct *redis.Client

	refused refusals // where a test hooks it in
}

func newRig(t *testing.T, o ...redistest.Option) *rig {
	t.Helper()
	r := &rig{t: t, server: redistest.Start(t, o...)}
	r.proxy = redistest.NewProxy(t, r.server)
	r.rdb, r.direct = r.proxy.Client(), r.server.Client()
	r.client, r.beside = newClient(t, r.rdb), newClient(t, r.direct)
	return r
}

func newClient(t *testing.T, rdb redis.UniversalClient) *waybill.Client {
	t.Helper()
	c, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// work is the kind of every test here.
var work = waybill.Define[int]("work", waybill.KindOptions{Queue: queue, Retry: waybill.Fixed(time.Millisecond)})

// runs counts how often each job was run.
type runs struct {
	mu   sync.Mutex
	of   map[string]int
	all  int
	last time.Time
}

func (r *runs) add(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]int{}
	}
	r.of[id]++
	r.all++
	r.last = time.Now()
}

func (r *runs) total() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

// once expects that each job was run once.
func (r *runs) once(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, n := range r.of {
		if n != 1 {
			t.Errorf("job %s was run %d times", id, n)
		}
	}
}

// start runs a worker on the client through the proxy until the test ends. h is called after each attempt began.
func (r *rig) start(o waybill.WorkerOptions, h func(context.Context, *waybill.Job[int]) error) (*waybill.Worker, *runs) {
	r.t.Helper()
	w, err := waybill.NewWorker(r.client, o)
	must(r.t, err)
	ran := &runs{}
	work.Handle(w, func(ctx context.Context, job *waybill.Job[int]) error {
		ran.add(job.ID)
		return h(ctx, job)
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("worker: %v", err)
		}
	})
	return w, ran
}

func nothing(context.Context, *waybill.Job[int]) error { return nil }

// send enqueues a job straight to the server and expects it to be taken.
func (r *rig) send(n int, o ...waybill.EnqueueOption) string {
	r.t.Helper()
	e, err := work.Enqueue(r.t.Context(), r.beside, n, o...)
	must(r.t, err)
	return e.ID
}

func (r *rig) stats() waybill.QueueStats {
	r.t.Helper()
	s, err := r.beside.Queue(queue).Stats(r.t.Context())
	must(r.t, err)
	return s
}

// Bounds of time. A busy machine may spoil any one measurement, so a promise of time is measured in up to three rounds, and
// the best of them must keep it; what only has to come about has long.
const (
	back   = 2 * time.Second // how soon work must go on once Redis is back
	latest = time.Minute
)

// soon plays a round until it took no longer than d, three times at most.
func soon(t *testing.T, d time.Duration, round func() time.Duration) {
	t.Helper()
	var took []time.Duration
	for len(took) < 3 {
		took = append(took, round())
		t.Logf("it took %s", took[len(took)-1])
		if took[len(took)-1] <= d {
			return
		}
	}
	t.Errorf("not within %s in any of three rounds: %s", d, took)
}

// best expects that one of some measurements is no longer than d.
func best(t *testing.T, d time.Duration, took []time.Duration) {
	t.Helper()
	t.Logf("it took %s", took)
	if slices.Min(took) > d {
		t.Errorf("none of them within %s: %s", d, took)
	}
}

// within waits until something is so, at most d, and gives how long it took.
func within(t *testing.T, d time.Duration, what string, is func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		if time.Since(began) > d {
			t.Fatalf("not within %s: %s", d, what)
		}
		<-tick.C
	}
	return time.Since(began)
}

// settled waits until no job is live, and checks that the counts add up.
func (r *rig) settled() waybill.QueueStats {
	r.t.Helper()
	s := r.stats()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); s.Live() > 0; s = r.stats() {
		if time.Since(began) > 2*latest {
			r.t.Fatalf("jobs are still live: %+v", s)
		}
		<-tick.C
	}
	if s.Accepted+s.Requeued != s.Completed+s.Died+s.Cancelled+s.Deleted ||
		s.Deliveries != s.Completed+s.Failures+s.Crashes+s.Snoozes+s.Released {
		r.t.Errorf("the account does not add up: %+v", s)
	}
	return s
}

// undisturbed expects that each of n jobs was delivered and completed once, and no lease was waited out.
func (r *rig) undisturbed(ran *runs, n int) {
	r.t.Helper()
	s := r.settled()
	if s.Completed != int64(n) || s.Deliveries != int64(n) || s.Crashes != 0 || s.Stale != 0 {
		r.t.Errorf("of %d jobs: %d completed, %d deliveries, %d crashes, %d stale", n, s.Completed, s.Deliveries, s.Crashes, s.Stale)
	}
	if got := ran.total(); got != n {
		r.t.Errorf("of %d jobs: %d handlers ran", n, got)
	}
	ran.once(r.t)
}

// random is a source whose seed is printed.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// during runs something again and again until stop is called, which waits for it.
func during(do func(n int)) (stop func()) {
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; !over.Load(); n++ {
			do(n)
		}
	}()
	return func() {
		over.Store(true)
		<-done
	}
}

func name(prefix string, n int) string { return fmt.Sprintf("%s%d", prefix, n) }
