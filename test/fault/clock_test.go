package fault_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// endings counts the ends that were recorded, and the highest attempt that began, of each job.
type endings struct {
	mu       sync.Mutex
	recorded map[string][]int
	highest  map[string]int
}

func newEndings() *endings { return &endings{recorded: map[string][]int{}, highest: map[string]int{}} }

func (e *endings) observe(ev waybill.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if ev.Type == waybill.EventEnded && ev.Recorded && ev.Outcome == waybill.AttemptCompleted {
		e.recorded[ev.ID] = append(e.recorded[ev.ID], ev.Attempt)
	}
	if ev.Type == waybill.EventStarted {
		e.highest[ev.ID] = max(e.highest[ev.ID], ev.Attempt)
	}
}

// once expects that each of so many jobs was completed once, by the last attempt that held it.
func (e *endings) once(t *testing.T, jobs int) {
	t.Helper()
	within(t, latest, "each job is told to be completed", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.recorded) >= jobs
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.recorded) != jobs {
		t.Errorf("%d jobs were completed of %d", len(e.recorded), jobs)
	}
	for id, numbers := range e.recorded {
		if len(numbers) != 1 || numbers[0] != e.highest[id] {
			t.Errorf("job %s was completed by attempts %v, the last that held it was %d", id, numbers, e.highest[id])
		}
	}
}

// TestClockForward: the server's clock jumps an hour ahead. What is due within the hour is due, and nothing else; leases
// are over at once, and of two attempts of a job the one that lost it changes nothing.
func TestClockForward(t *testing.T) {
	t.Parallel()
	const long = 20
	r := newRig(t, redistest.Preload())
	told := newEndings()
	release := make(chan struct{})
	handle := func(ctx context.Context, job *waybill.Job[int]) error {
		if job.Args == 1 {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return nil // also where the lease was lost: it says it is done
	}
	o := waybill.WorkerOptions{Concurrency: 2 * long, Observe: told.observe}
	_, first := r.start(o, handle)
	for n := range long {
		r.send(1, waybill.ID(name("long-", n)))
	}
	within(t, latest, "the long jobs run", func() bool { return first.total() == long })
	_, second := r.start(o, handle)
	r.send(2, waybill.ID("half-an-hour"), waybill.After(30*time.Minute))
	r.send(3, waybill.ID("two-hours"), waybill.After(2*time.Hour))
	r.server.Clock().Shift(time.Hour)
	within(t, latest, "what is due within the hour runs, and the jobs whose leases are over run again", func() bool {
		return r.stats().Crashes > 0 && told.done("half-an-hour")
	})
	close(release)
	within(t, latest, "all but one end", func() bool { return r.stats().Completed == long+1 })
	if s := r.stats(); s.Scheduled != 1 || s.Live() != 1 {
		t.Errorf("of what is due in two hours %d jobs wait, %d are live", s.Scheduled, s.Live())
	}
	r.server.Clock().Shift(2*time.Hour + time.Minute)
	s := r.settled()
	t.Logf("%d attempts, %d leases lost, %d settlements too late", first.total()+second.total(), s.Crashes, s.Stale)
	told.once(t, long+2)
}

func (e *endings) done(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.recorded[id] != nil
}

// TestClockBackward: the server's clock jumps an hour back under a worker. Work goes on at once, by what the clock says
// now, and jobs that run keep their leases.
func TestClockBackward(t *testing.T) {
	t.Parallel()
	soon(t, back, func() time.Duration { return clockBackward(t) })
}

func clockBackward(t *testing.T) time.Duration {
	t.Helper()
	r := newRig(t, redistest.Preload())
	told := newEndings()
	release := make(chan struct{})
	_, ran := r.start(waybill.WorkerOptions{Lease: 3 * time.Second, Observe: told.observe}, func(ctx context.Context, job *waybill.Job[int]) error {
		if job.Args == 1 {
			<-release
		}
		return nil
	})
	r.send(1)
	within(t, latest, "a long job runs", func() bool { return ran.total() == 1 })
	r.server.Clock().Shift(-time.Hour)
	began := time.Now()
	r.send(2)
	r.send(2, waybill.After(200*time.Millisecond))
	within(t, latest, "new jobs run", func() bool { return ran.total() == 3 })
	took := time.Since(began)
	close(release)
	r.undisturbed(ran, 3)
	told.once(t, 3)
	return took
}

// TestClockBackward_deadHolder: a worker dies, and the server's clock jumps a day back. Its lease is over after an hour of
// that clock, not after a day.
func TestClockBackward_deadHolder(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Preload())
	s, err := store.New(r.direct, store.Options{})
	must(t, err)
	defer s.Close()
	q, err := s.Queue(queue)
	must(t, err)
	id := r.send(1)
	if got, err := q.Claim(t.Context(), store.Claim{Worker: strings.Repeat("x", 22), Number: 1, Most: 1, Lease: time.Second}); err != nil || len(got.Jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(got.Jobs), err)
	}
	r.server.Clock().Shift(-24 * time.Hour)
	_, ran := r.start(waybill.WorkerOptions{PollInterval: 50 * time.Millisecond}, nothing)
	within(t, latest, "the lease is cut to an hour", func() bool {
		j, err := r.beside.Queue(queue).Get(t.Context(), id)
		must(t, err)
		return j.LeaseEndsAt.Sub(j.At) <= time.Hour
	})
	if ran.total() != 0 {
		t.Error("the job was given to another worker within its lease")
	}
	r.server.Clock().Shift(-23*time.Hour + time.Minute)
	within(t, latest, "the job is run by another worker", func() bool { return ran.total() == 1 })
	if s := r.settled(); s.Completed != 1 || s.Crashes != 1 {
		t.Errorf("%d completed, %d crashes", s.Completed, s.Crashes)
	}
}

// TestClockBackward_blockingCall: a server's blocking timeouts follow its wall clock, so after a jump back a blocking call
// is not answered in its time. The client's own deadline on the read is what lets the worker go on.
func TestClockBackward_blockingCall(t *testing.T) {
	t.Parallel()
	const wait = time.Second
	r := newRig(t, redistest.Preload())
	blocked := func(n string) bool {
		return strings.Contains(r.direct.Info(t.Context(), "clients").Val(), "blocked_clients:"+n+"\r")
	}
	s, err := store.New(r.server.Client(), store.Options{})
	must(t, err)
	defer s.Close()
	bare := r.server.Client().WithTimeout(time.Minute)
	answered := make(chan error, 1)
	go func() { answered <- bare.BLPop(t.Context(), wait, "nothing").Err() }()
	listened := make(chan error, 1)
	began := time.Now()
	go func() {
		_, err := s.Listen(t.Context(), []string{queue}, wait)
		listened <- err
	}()
	within(t, wait/2, "both calls block", func() bool { return blocked("2") })
	r.server.Clock().Shift(-time.Hour)
	var timeout net.Error
	if err := <-listened; !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("the listener is told %v", err)
	}
	if took := time.Since(began); took > mostLate {
		t.Errorf("the listener goes on after %s", took)
	}
	select {
	case err := <-answered:
		t.Errorf("the server answers a blocking call after a jump back: %v", err)
	default:
	}
	r.server.Clock().Shift(time.Second) // ahead of when the call began: its time is over
	if err := <-answered; err == nil {
		t.Error("a list that is not there gave something")
	}
}

// TestClockBackward_bellLost: an idle worker blocks at the bell, the server's clock jumps back, and the bell is lost. The
// worker still finds the job.
func TestClockBackward_bellLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Preload())
	_, ran := r.start(waybill.WorkerOptions{}, nothing)
	within(t, latest, "the worker blocks", func() bool {
		return strings.Contains(r.direct.Info(t.Context(), "clients").Val(), "blocked_clients:1\r")
	})
	r.server.Clock().Shift(-time.Hour)
	stop := during(func(int) { r.direct.Del(t.Context(), "wb:{q}:bell") })
	defer stop()
	r.send(1)
	within(t, mostLate, "the job is found", func() bool { return ran.total() == 1 })
	r.undisturbed(ran, 1)
}

// TestClockJumps: the server's clock jumps back and forth by up to two hours under producers and workers. Nothing is lost,
// nothing is completed twice, and nothing begins before that clock has once shown the time at which it is due.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	const producers, jumps = 3, 15
	r := newRig(t, redistest.Preload())
	rnd := random(t)
	told := newEndings()
	var ahead atomic.Int64 // the most that the clock was
	handle := func(_ context.Context, job *waybill.Job[int]) error {
		shown := time.Now().Add(time.Duration(ahead.Load()))
		if early := job.DueAt.Sub(shown); job.Number == 1 && early > 0 {
			t.Errorf("job %s begins %s before the clock can have shown that it is due", job.ID, early)
		}
		return nil
	}
	o := waybill.WorkerOptions{Concurrency: 10, Lease: 5 * time.Second, Observe: told.observe}
	r.start(o, handle)
	r.start(o, handle)
	var over atomic.Bool
	var sent atomic.Int64
	var all sync.WaitGroup
	for range producers {
		mine := rand.New(rand.NewPCG(rnd.Uint64(), 0))
		all.Go(func() {
			for !over.Load() {
				if _, err := work.Enqueue(t.Context(), r.client, 1, waybill.After(time.Duration(mine.IntN(3))*20*time.Minute)); err != nil {
					t.Errorf("enqueue: %v", err)
					return
				}
				sent.Add(1)
			}
		})
	}
	for range jumps {
		before := sent.Load()
		shift := time.Duration(rnd.Int64N(int64(4*time.Hour))) - 2*time.Hour
		ahead.Store(max(ahead.Load(), int64(shift)))
		r.server.Clock().Shift(shift)
		within(t, latest, "jobs are enqueued at this time", func() bool { return sent.Load() > before+30 })
	}
	over.Store(true)
	all.Wait()
	ahead.Store(int64(4 * time.Hour))
	r.server.Clock().Shift(4 * time.Hour)
	s := r.settled()
	t.Logf("%d jobs, %d leases lost, %d settlements too late", s.Accepted, s.Crashes, s.Stale)
	if s.Died != 0 {
		t.Errorf("%d jobs are dead", s.Died)
	}
	told.once(t, int(sent.Load()))
}
