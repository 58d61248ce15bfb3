package waybilltest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
)

// workTime is how long WorkAll may take.
const workTime = 30 * time.Second

// pausedBy says who holds a queue between two calls of WorkAll.
const pausedBy = "waybilltest"

// WorkAll runs every job that is claimable in the worker's queues, each event that its subscriptions have not taken, and what
// these enqueue and publish, until nothing is ready and nothing runs; it gives the attempts that ran since its last call, in the order in which they began. Jobs that are
// due later stay where they are: see Advance. What is due within the milliseconds that WorkAll takes may run too. Jobs of
// kinds without a handler stay, which is logged, and so do those of queues that the test has paused.
//
// It starts the worker the first time, which makes its subscriptions, and pauses the queues when it returns, so nothing runs outside of it but in
// queues that the test itself resumes. It fails the test where Redis does not answer, where no kind is handled, and,
// with what is stuck, after 30 s or shortly before the test's deadline. A handler that waits for another job needs
// Options.Worker.Concurrency of more than 1.
func (e *Env) WorkAll() []Ran {
	e.t.Helper()
	ctx, cancel := e.limited()
	defer cancel()
	e.begin(ctx)
	e.until(ctx, func(now look) bool { return now.ready == 0 })
	for _, name := range e.Worker.Queues() {
		s := e.stats(ctx, name)
		if s.PausedBy == "" {
			e.must(ctx, "pause", e.Client.Queue(name).Pause(ctx, pausedBy))
		}
		if s.Parked > 0 {
			e.t.Logf("waybilltest: queue %s: %d jobs are of kinds without a handler", name, s.Parked)
		}
	}
	e.until(ctx, func(look) bool { return true }) // what other goroutines enqueued just now may run
	return e.attempts.take()
}

// limited is a context that ends when a call has taken too long.
func (e *Env) limited() (context.Context, context.CancelFunc) {
	limit := workTime
	if t, ok := e.t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, ok := t.Deadline(); ok {
			limit = min(limit, time.Until(deadline)*9/10)
		}
	}
	return context.WithTimeout(e.t.Context(), limit)
}

// begin starts the worker, or lets it go on.
func (e *Env) begin(ctx context.Context) {
	e.t.Helper()
	if e.ended == nil {
		var run context.Context
		run, e.stop = context.WithCancel(context.WithoutCancel(ctx))
		e.ended = make(chan error, 1)
		go func() { e.ended <- e.Worker.Run(run) }()
		e.every(ctx, func() bool { return len(e.Worker.Queues()) > 0 })
		e.subscribed(ctx)
		return
	}
	for _, name := range e.Worker.Queues() {
		if e.stats(ctx, name).PausedBy == pausedBy {
			e.must(ctx, "resume", e.Client.Queue(name).Resume(ctx))
		}
	}
}

// look is how the worker's queues stand at a time.
type look struct {
	ready, active int64
	moves         int64 // counts all that makes a job claimable or takes it
}

// until waits until nothing runs and done is true. It needs two looks in a row between which nothing has moved: a look
// reads one queue after the other, and a job may have run in between that enqueued another.
func (e *Env) until(ctx context.Context, done func(look) bool) {
	e.t.Helper()
	var last look
	e.every(ctx, func() bool {
		now := e.look(ctx)
		still := now == last && now.active == 0 && done(now) && len(e.attempts.under()) == 0
		last = now
		return still
	})
}

// every asks again and again, and fails the test with what is stuck where the time is over.
func (e *Env) every(ctx context.Context, done func() bool) {
	e.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case err := <-e.ended:
			e.ended <- nil
			e.t.Fatalf("waybilltest: the worker has ended: %v", err)
		case <-ctx.Done():
			e.stuck()
		case <-tick.C:
		}
	}
}

func (e *Env) look(ctx context.Context) look {
	e.t.Helper()
	var all look
	for _, name := range e.Worker.Queues() {
		s := e.stats(ctx, name)
		all.active += s.Active
		all.moves += s.Accepted + s.Requeued + s.Deliveries
		if s.PausedBy == "" {
			all.ready += s.Ready + e.lag(ctx, name, s)
			if s.Scheduled+s.Retry+s.Parked > 0 {
				all.ready += e.soon(ctx, name)
			}
		}
	}
	return all
}

func (e *Env) stats(ctx context.Context, queue string) waybill.QueueStats {
	e.t.Helper()
	s, err := e.Client.Queue(queue).Stats(ctx)
	e.must(ctx, "look", err)
	return s
}

// must fails the test where a call failed.
func (e *Env) must(ctx context.Context, what string, err error) {
	e.t.Helper()
	if ctx.Err() != nil {
		e.stuck()
	}
	if err != nil {
		e.t.Fatalf("waybilltest: %s: %v", what, err)
	}
}

// soon counts jobs that the next claim makes ready: those whose time has come, and those set aside for want of room for
// their kind.
func (e *Env) soon(ctx context.Context, queue string) int64 {
	e.t.Helper()
	n := e.count(ctx, queue, waybill.StateParked, func(j waybill.JobInfo) bool { return e.attempts.known(j.Kind) })
	for _, s := range timed {
		n += e.count(ctx, queue, s, func(j waybill.JobInfo) bool { return !j.DueAt.After(j.At) })
	}
	return n
}

// count counts the jobs of a state, up to the first for which is is false where they are ordered by time.
func (e *Env) count(ctx context.Context, queue string, s waybill.State, is func(waybill.JobInfo) bool) (n int64) {
	e.t.Helper()
	for j, err := range e.Client.Queue(queue).Jobs(ctx, waybill.Filter{States: []waybill.State{s}}) {
		switch {
		case err != nil && j.ID == "":
			e.must(ctx, "list", err)
		case is(j):
			n++
		case s != waybill.StateParked:
			return n
		}
	}
	return n
}

// stuck fails the test with what WorkAll waits for.
func (e *Env) stuck() {
	e.t.Helper()
	lines := e.attempts.under()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.t.Context()), time.Second)
	defer cancel()
	for _, name := range e.Worker.Queues() {
		if s, err := e.Client.Queue(name).Stats(ctx); err != nil {
			lines = append(lines, err.Error())
		} else if s.Ready+s.Active > 0 {
			lines = append(lines, fmt.Sprintf("queue %s: %d ready, %d active", name, s.Ready, s.Active))
		}
	}
	if len(lines) == 0 {
		lines = []string{"nothing is ready or active now"}
	}
	e.t.Fatalf("waybilltest: the time is over, and work is not:\n\t%s", strings.Join(lines, "\n\t"))
}
