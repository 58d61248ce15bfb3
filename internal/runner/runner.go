// Package runner runs jobs: it claims them, runs their handlers, renews their leases and settles
// them. It is the only loop in Waybill that does.
//
// One Runner serves one queue. Its parts are claim.go (when to ask for jobs), run.go (one attempt),
// settle.go (how it ends), renew.go (leases) and stop.go (shutdown). Jobs are at least once: an
// attempt whose lease ran out may still be running while another one begins.
package runner

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// Causes with which a handler's context ends.
var (
	ErrLeaseLost = errors.New("lease lost: the job is no longer this attempt's")
	ErrCancelled = errors.New("job cancelled")
	ErrTimeout   = errors.New("attempt timed out")
	ErrShutdown  = errors.New("worker is shutting down")
)

// Queue is what a runner needs of a store.Queue.
type Queue interface {
	Claim(ctx context.Context, c store.Claim) (store.Claimed, error)
	Settle(ctx context.Context, items []store.Settlement) ([]store.Verdict, error)
	Renew(ctx context.Context, lease time.Duration, members []string) ([]store.Verdict, error)
	Listen(ctx context.Context, d time.Duration) (bool, error)
	Ring(ctx context.Context) error
}

// Attempt is one claim of a job, as the handler's side sees it.
type Attempt struct {
	store.Delivery
	Rec record.Record

	runner *Runner
	came   time.Time // when the claim was answered, by this process's clock
	cancel context.CancelCauseFunc
	damage error // of the record
	lost   atomic.Bool
	done   bool // the handler is over, or was given up; guarded by Runner.mu
}

// serverNow is Redis's clock as far as this process can tell: that of the claim, and the time since.
func (a *Attempt) serverNow() time.Time {
	return a.Deadline.Add(-a.runner.o.Lease).Add(time.Since(a.came))
}

// Check asks whether the attempt still holds the job, and renews its lease if so.
func (a *Attempt) Check(ctx context.Context) error { return a.runner.check(ctx, a) }

// Stopping is closed when the runner begins to stop.
func (a *Attempt) Stopping() <-chan struct{} { return a.runner.stopping }

// Policy is how a kind's failed attempts end.
type Policy struct {
	MaxFailures int                                         // where the record says nothing; negative: unlimited
	Retry       func(failures int, err error) time.Duration // wait after the failures-th failure
	Timeout     time.Duration                               // of an attempt; 0 = none
}

// Options of a Runner. All are required but Kinds and Log.
type Options struct {
	Name        string // of the queue, for logs
	Queue       Queue
	Concurrency int           // attempts at a time
	Lease       time.Duration // renewed at a third
	Grace       time.Duration // from the begin of a stop until handlers are cancelled
	Poll        time.Duration // longest time between two claims while a slot is free
	Kinds       []string      // empty = every kind
	Policy      func(kind string) Policy
	Handle      func(ctx context.Context, a *Attempt) ([]byte, error)
	Suspects    *Gate // shared by the runners of a process
	Log         *slog.Logger
}

// Gate lets one suspect at a time run in a process.
type Gate struct{ taken atomic.Bool }

func (g *Gate) enter() bool { return g.taken.CompareAndSwap(false, true) }
func (g *Gate) leave()      { g.taken.Store(false) }

// Runner runs the jobs of one queue. Make it with New and call Run once.
type Runner struct {
	o        Options
	log      *slog.Logger
	worker   string
	last     lastClaim // only the claim loop touches it
	settler  *batch.Batcher[ending]
	freed    chan struct{} // a slot became free
	stopping chan struct{} // closed when ctx ended: no more claims
	givenUp  chan struct{} // closed when ends are no longer sent again
	doubt    atomic.Bool   // a call failed: settle, then renew, before the next claim
	renewed  atomic.Int64  // when leases were last renewed, in ns since the runner began
	// renewedWall is the same by the wall clock, ns since 1970: the other stands still while a machine sleeps.
	renewedWall atomic.Int64
	unable      atomic.Int32 // attempts in a row that this worker could not run at all
	began       time.Time

	mu   sync.Mutex
	held map[string]*Attempt // by lease member, until their end is recorded
	busy int                 // handlers running
	all  sync.WaitGroup      // handlers
}

// New makes a runner. It sends nothing.
func New(o Options) *Runner {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &Runner{
		o: o, worker: record.NewWorkerID(), freed: make(chan struct{}, 1), stopping: make(chan struct{}),
		givenUp: make(chan struct{}), held: map[string]*Attempt{}, began: time.Now(),
	}
	r.log = o.Log.With(slog.String(keyQueue, o.Name), slog.String(keyWorker, r.worker))
	return r
}

// Worker is the name under which this runner holds jobs.
func (r *Runner) Worker() string { return r.worker }

// Run claims and runs jobs until ctx ends. Then it waits for the handlers, cancels those that
// outlast the grace, settles or releases every job, and returns. An error says that handlers
// did not return or that ends could not be recorded; leases bring those jobs back.
func (r *Runner) Run(ctx context.Context) error {
	// Calls to Redis are not given up because ctx ended, only when a stop has had its time.
	calls, enough := context.WithCancel(context.WithoutCancel(ctx))
	defer enough()
	work, cancel := context.WithCancelCause(calls)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { r.stopClock(calls, cancel, enough) })()
	r.settler = batch.New(settleMost, func(ends []ending) { r.settle(calls, ends) })
	stopRenewing := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() { r.renewLoop(calls, stopRenewing) })
	b := &bell{rang: make(chan bool, 1)}
	r.claimLoop(ctx, calls, work, b)
	var returning sync.WaitGroup
	returning.Go(func() { r.returnOpenClaim(calls) })
	err := r.stop(work, returning.Wait)
	close(stopRenewing)
	renewing.Wait()
	r.silence(calls, b)
	return err
}

// slots is how many more handlers may run.
func (r *Runner) slots() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.o.Concurrency - r.busy
}

// members are the leases that are still to be held.
func (r *Runner) members() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]string, 0, len(r.held))
	for m := range r.held {
		out = append(out, m)
	}
	return out
}

// running is the attempt of a member whose handler runs, or nil.
func (r *Runner) running(member string) *Attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.held[member]; a != nil && !a.done {
		return a
	}
	return nil
}

// pause waits, at most d; false where ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
