// Package pipe does jobs by processes that live on: one JSON object a line goes to a child's stdin for each job, and
// comes from its stdout. A Pool keeps a child for each slot of a worker, starts new ones where they end, and gives each
// one job at a time.
package pipe

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/cmd/waybill/internal/process"
)

// Bounds of the wait before a child is started again, and of a job's wait for one.
const (
	leastBackoff = 100 * time.Millisecond
	mostBackoff  = 10 * time.Second
	childWait    = 2 * time.Second
)

var errNoChild = errors.New("no child is ready")

// Options of a Pool. All are required but Timeout.
type Options struct {
	Argv, Env    []string
	Stderr       io.Writer       // gets the children's stderr, and lines of their stdout that are no messages
	Size         int             // children
	ReadyTimeout time.Duration   // from the start of a child until it says that it is ready
	Timeout      time.Duration   // of an attempt, from when a child has it, so that the start of a child is not its time; 0 = none
	Snooze       time.Duration   // where a child does not say how long
	Ending       <-chan struct{} // closed when children are to end at once, their jobs undone
	Log          *slog.Logger
}

// Pool is the children of a worker. Make it with New. It is safe for concurrent use.
type Pool struct {
	o      Options
	groups process.Groups
	starts *process.Starts
	offers chan *child // from slots, to whoever has a job

	mu      sync.Mutex
	tried   int // slots whose first child came to be ready, or did not
	ready   int
	changed chan struct{}
}

// New makes a Pool. It starts nothing.
func New(o Options) *Pool {
	return &Pool{o: o, starts: process.NewStarts(o.Log), offers: make(chan *child), changed: make(chan struct{}, 1)}
}

// Run starts the children, calls work once they are ready, and ends them when it has returned. A child that is not
// ready in time is not waited for, unless none is.
func (p *Pool) Run(ctx context.Context, work func(context.Context) error) error {
	slots, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var all sync.WaitGroup
	for range p.o.Size {
		all.Go(func() { p.slot(slots) })
	}
	var err error
	if p.await(ctx) {
		err = work(ctx)
	}
	stop()
	all.Wait()
	return err
}

// Kill ends all children at once, by SIGKILL.
func (p *Pool) Kill() { p.groups.Kill() }

// Unable says why no job can be done now, or nil.
func (p *Pool) Unable() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ready > 0 {
		return nil
	}
	return errors.Join(errNoChild, p.starts.Why())
}

// Handle has a child do a job. One for which none is ready is given back. A child that ended before it read the job
// leaves it to the next one.
func (p *Pool) Handle(ctx context.Context, a *waybill.Attempt) ([]byte, error) {
	enough := time.NewTimer(childWait)
	defer enough.Stop()
	for {
		c, err := p.take(ctx, enough.C)
		if err != nil {
			return nil, release(err)
		}
		d, err := p.do(ctx, c, a)
		switch {
		case err != nil:
			return nil, err
		case d.told != nil || !d.unread:
			if d.settle != nil {
				d.settle.tellEffects(a)
			}
			return d.outcome(p.o.Snooze)
		}
	}
}

// do lends a child to a job, with the time of an attempt.
func (p *Pool) do(ctx context.Context, c *child, a *waybill.Attempt) (done, error) {
	if p.o.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, p.o.Timeout, waybill.ErrTimeout)
		defer stop()
	}
	d, err := c.do(ctx, p.o.Ending, a)
	c.back <- err == nil && !d.unread
	return d, err
}

func (p *Pool) take(ctx context.Context, enough <-chan time.Time) (*child, error) {
	select {
	case c := <-p.offers:
		return c, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-p.o.Ending:
		return nil, waybill.ErrShutdown
	case <-enough:
		return nil, errNoChild
	}
}

// await waits until each slot has tried to have a child and one is ready. False where ctx ended first.
func (p *Pool) await(ctx context.Context) bool {
	for {
		p.mu.Lock()
		enough := p.tried == p.o.Size && p.ready > 0
		p.mu.Unlock()
		if enough {
			return true
		}
		select {
		case <-p.changed:
		case <-ctx.Done():
			return false
		}
	}
}

// ends tells whether children are to end at once.
func (p *Pool) ends() bool {
	select {
	case <-p.o.Ending:
		return true
	default:
		return false
	}
}

// count notes a slot's first try, and how many more children are ready.
func (p *Pool) count(tries, ready int) {
	p.mu.Lock()
	p.tried += tries
	p.ready += ready
	p.mu.Unlock()
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// backoff is the wait before the next start: it doubles, and is spread over its upper half.
func backoff(fails int) time.Duration {
	d := mostBackoff
	if fails < 10 {
		d = min(d, leastBackoff<<(fails-1))
	}
	return d/2 + rand.N(d/2+1)
}
