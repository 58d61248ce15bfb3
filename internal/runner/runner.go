// Package runner runs jobs: it claims them, runs their handlers, renews their leases and settles
// them. It is the only loop in Waybill that does.
//
// One Runner serves one queue; the runners of a worker share a Team: its slots (slots.go, seat.go), its ears for the
// bells (ears.go), and what is known of Redis (outage.go). A runner's parts are await.go (when to ask for jobs),
// claim.go (asking), run.go (one attempt), settle.go (how it ends), renew.go (leases) and stop.go (shutdown). Jobs are
// at least once: an attempt whose lease ran out may still be running while another one begins elsewhere.
package runner

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/store"
)

// Causes with which a handler's context ends.
var (
	ErrLeaseLost = errors.New("lease lost: the job is no longer this attempt's")
	ErrCancelled = errors.New("job cancelled")
	ErrTimeout   = errors.New("attempt timed out")
	ErrShutdown  = errors.New("worker is shutting down")
)

// ErrUnfinished is what Run says where handlers did not return or ends could not be recorded.
var ErrUnfinished = errors.New("not all is finished: leases bring the jobs back")

// Queue is what a runner needs of a store.Queue.
type Queue interface {
	Claim(ctx context.Context, c store.Claim) (store.Claimed, error)
	Settle(ctx context.Context, items []store.Settlement) ([]store.Verdict, error)
	Renew(ctx context.Context, lease time.Duration, members []string) ([]store.Verdict, error)
	Progress(ctx context.Context, member string, percent int, note string) (store.Verdict, error)
	Ring(ctx context.Context) error
	Lease(ctx context.Context) (time.Duration, error) // of the queue's settings
}

// Policy is how a kind's failed attempts end.
type Policy struct {
	MaxFailures int                                         // where the record says nothing; negative: unlimited
	Retry       func(failures int, err error) time.Duration // wait after the failures-th failure
	Timeout     time.Duration                               // of an attempt; 0 = none
	Retention   time.Duration                               // of an ended job whose record says nothing; 0 = none
}

// Options of a Runner. All are required but Weight, Lease and Kinds.
type Options struct {
	Name        string // of the queue, for logs
	Queue       Queue
	Concurrency int           // attempts at a time
	Weight      int           // share of the slots where several queues want some; 0 = 1
	Lease       time.Duration // renewed at a third; 0 = as the queue's settings say
	Grace       time.Duration // from the begin of a stop until handlers are cancelled
	Kinds       []string      // empty = every kind
	Policy      func(kind string) Policy
	Handle      func(ctx context.Context, a *Attempt) ([]byte, error)
}

// Runner runs the jobs of one queue. Make it with Team.Runner and call Run once.
type Runner struct {
	o        Options
	team     *Team
	log      *slog.Logger
	worker   string
	seat     *Seat
	ear      *Ear
	line     *line
	last     lastClaim // only the claim loop touches it, as what follows
	spread   bool      // all queues were just looked at together: the next look is at a random time
	settler  *batch.Batcher[ending]
	looks    *batch.Batcher[*Attempt]
	calls    atomic.Value  // context.Context of calls to Redis, once it runs
	freed    chan struct{} // a slot became free
	nudged   chan struct{} // a look may bring something
	stopping chan struct{} // closed when ctx ended: no more claims
	stopped  atomic.Int64  // when, in ns since the runner began
	quiet    chan struct{} // closed when no more claims are wished
	quietly  sync.Once
	givenUp  chan struct{} // closed when ends are no longer sent again
	// doubts counts calls that failed, cleared is that number as of the last renewal that was answered. Where they
	// differ leases are in doubt: settle, then renew, before the next claim.
	doubts, cleared atomic.Int64
	renewed         atomic.Int64 // when leases were last renewed, in ns since the runner began
	// renewedWall is the same by the wall clock, ns since 1970: the other stands still while a machine sleeps.
	renewedWall atomic.Int64
	unable      atomic.Int32 // attempts in a row that this worker could not run at all
	began       time.Time

	mu      sync.Mutex
	held    map[string]*Attempt // by lease member, until their end is recorded
	running map[string]*Attempt // by ID, until the handler returns
	under   bool                // a claim is under way, or open
	cancels map[string]struct{} // IDs told since, that no attempt here had: the claim may bring them
	closed  bool                // what a claim still brings is released
	all     sync.WaitGroup      // handlers
}

// Worker is the name under which this runner holds jobs.
func (r *Runner) Worker() string { return r.worker }

// Quiet lets the runner claim nothing more; the rest goes on until Run's context ends.
func (r *Runner) Quiet() { r.quietly.Do(func() { close(r.quiet) }) }

// Nudge makes the runner look once, as soon as it has a free slot: jobs may have come that no bell was rung for.
func (r *Runner) Nudge() {
	select {
	case r.nudged <- struct{}{}:
	default:
	}
}

// Run claims and runs jobs until ctx ends. Then it waits for the handlers, cancels those that
// outlast the grace, settles or releases every job, and returns. An error says that handlers
// did not return or that ends could not be recorded; leases bring those jobs back.
func (r *Runner) Run(ctx context.Context) error {
	defer r.team.leave(r)
	if !r.askLease(ctx) {
		return nil
	}
	// Calls to Redis are not given up because ctx ended, only when a stop has had its time.
	calls, enough := context.WithCancel(context.WithoutCancel(ctx))
	defer enough()
	work, cancel := context.WithCancelCause(calls)
	defer cancel(nil)
	r.calls.Store(calls)
	defer context.AfterFunc(ctx, func() { r.stopClock(calls, cancel, enough) })()
	r.settler = batch.New(settleMost, func(ends []ending) { r.settle(calls, ends) })
	stopRenewing := make(chan struct{})
	var renewing, claiming sync.WaitGroup
	renewing.Go(func() { r.renewLoop(calls, stopRenewing) })
	claiming.Go(func() {
		r.claimLoop(ctx, calls, work)
		r.returnOpenClaim(ctx, calls)
	})
	<-ctx.Done()
	err := r.stop(work, claiming.Wait)
	close(stopRenewing)
	renewing.Wait()
	r.looks.Wait()
	return err
}

// doubt tells whether leases are in doubt: a call got no answer, and none since said that they are held.
func (r *Runner) doubt() bool { return r.doubts.Load() != r.cleared.Load() }

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

// attempts are those whose handlers run.
func (r *Runner) attempts() []*Attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Attempt, 0, len(r.running))
	for _, a := range r.running {
		out = append(out, a)
	}
	return out
}

// of is the attempt of a member whose handler runs, or nil.
func (r *Runner) of(member string) *Attempt {
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
