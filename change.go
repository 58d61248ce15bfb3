package waybill

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// changeStep is how many jobs one step of a bulk change looks at. A call takes about a millisecond then, and whatever
// else Redis does waits no longer.
const changeStep = 100

// maxRate bounds BulkOptions.Rate.
const maxRate = 1e6

// BulkOptions of a change of many jobs. The zero value changes all that the filter takes, as fast as is good for others.
type BulkOptions struct {
	DryRun bool // count what the filter takes, and change nothing
	// Rate is how many jobs a second are changed at most, to 1,000,000; 0 = no bound but courtesy: after each step as
	// much time is left to others as it took.
	Rate float64
	// To is the queue that RequeueAll moves the jobs to, under their IDs; "" = their own.
	To string
	// Progress is told how far it is after each step of at most 100 jobs, on the caller's goroutine; nil = nobody.
	Progress func(BulkResult)
}

// BulkResult is what became of the jobs of a bulk change so far.
type BulkResult struct {
	Looked  int64 // jobs looked at
	Matched int64 // of them, taken by the filter
	Changed int64 // of them, changed; 0 with DryRun
	// Refused: of Matched, left as they were, since their state changed meanwhile or their record can't be read.
	Refused int64
	// Why says why the first one was refused: ErrState, ErrNotFound, ErrNewer, ErrConflict, ErrUnknown, or a damaged
	// record; nil = none was.
	Why error
}

// RequeueAll makes the dead jobs that the filter takes ready again, in their own queue or in BulkOptions.To. Jobs that
// die again meanwhile are left. It goes in bounded steps; after an error, or when ctx ends, the same call goes on where
// it stopped, since what was changed is dead no more.
//
// A job that is moved is first enqueued there and then deleted here; it counts as enqueued anew.
// Errors, beside the result so far: ErrInvalid (a state other than dead), ErrFull where the queue is at its capacity,
// ErrUnavailable, ErrUnknown, ctx's error.
func (q *Queue) RequeueAll(ctx context.Context, f Filter, o BulkOptions) (BulkResult, error) {
	c := q.newChange("requeue", f, o, StateDead)
	c.once = true
	c.do = func(ctx context.Context, ids []string) ([]store.Change, error) { return q.q.Requeue(ctx, ids...) }
	if o.To != "" && c.err == nil {
		c.err = store.CheckQueue(o.To)
		if o.To == q.q.Name() {
			c.err = invalid("to", "is %s, where the jobs are: leave it out", o.To)
		}
		c.move = q.client.Queue(o.To)
	}
	return c.run(ctx)
}

// PromoteAll makes the scheduled and retrying jobs that the filter takes ready now. Else as RequeueAll.
func (q *Queue) PromoteAll(ctx context.Context, f Filter, o BulkOptions) (BulkResult, error) {
	c := q.newChange("promote", f, o, StateScheduled, StateRetry)
	c.once = true
	c.do = func(ctx context.Context, ids []string) ([]store.Change, error) { return q.q.Promote(ctx, ids...) }
	return c.run(ctx)
}

// CancelAll ends the live jobs that the filter takes as cancelled, and asks the attempts that run them to stop; both
// count as changed. The reason is as that of Cancel. Jobs enqueued meanwhile are left. Else as RequeueAll.
func (q *Queue) CancelAll(ctx context.Context, f Filter, reason string, o BulkOptions) (BulkResult, error) {
	c := q.newChange("cancel", f, o, StateReady, StateScheduled, StateRetry, StateParked, StateSpilled, StateActive)
	c.err = errors.Join(c.err, record.CheckLine("reason", reason))
	c.do = func(ctx context.Context, ids []string) ([]store.Change, error) {
		return q.q.Cancel(ctx, reason, ids...)
	}
	return c.run(ctx)
}

// DeleteAll removes the jobs that the filter takes, and all that belongs to them; active ones only by d.Force. The zero
// filter takes every job. Jobs enqueued meanwhile are left. Else as RequeueAll.
func (q *Queue) DeleteAll(ctx context.Context, f Filter, d DeleteOptions, o BulkOptions) (BulkResult, error) {
	states := []State{
		StateReady, StateScheduled, StateRetry, StateParked, StateSpilled, StateDead, StateCompleted, StateCancelled,
	}
	if d.Force {
		states = append(states, StateActive)
	}
	c := q.newChange("delete", f, o, states...)
	c.do = func(ctx context.Context, ids []string) ([]store.Change, error) {
		return q.q.Delete(ctx, store.DeleteOptions(d), ids...)
	}
	return c.run(ctx)
}

// change is one bulk change under way.
type change struct {
	q      *Queue
	f      Filter
	o      BulkOptions
	states []store.State
	do     func(ctx context.Context, ids []string) ([]store.Change, error)
	move   *Queue // where the jobs go; nil = they stay
	once   bool   // jobs that were claimed since the begin are left: this change made them ready
	err    error  // of what was asked for
	pace   pace
	start  time.Time // by Redis's clock; zero until the first page
	result BulkResult
}

// newChange checks the filter: its states are to be among those that the verb applies to.
func (q *Queue) newChange(verb string, f Filter, o BulkOptions, applies ...State) *change {
	c := &change{q: q, f: f, o: o, err: q.err, pace: pace{rate: o.Rate}}
	if o.Rate < 0 || o.Rate > maxRate || math.IsNaN(o.Rate) {
		c.err = invalid("rate", "is %g jobs a second: from 0 to %g", o.Rate, maxRate)
	}
	for _, s := range f.States {
		if !slices.Contains(applies, s) {
			c.err = invalid("state", "is %s: %s applies to %v", s, verb, applies)
		}
	}
	if f.States == nil {
		c.f.States = applies
	}
	states, err := c.f.listed()
	c.states = states
	c.err = errors.Join(c.err, err)
	return c
}

func (c *change) run(ctx context.Context) (BulkResult, error) {
	if c.err != nil {
		return c.result, c.err
	}
	for _, s := range c.states {
		for cursor, more := "", true; more; {
			c.pace.begin()
			page, err := c.q.q.List(ctx, s, cursor, changeStep, false)
			if err == nil {
				err = c.page(ctx, page.Entries)
			}
			if err != nil {
				return c.result, err
			}
			cursor, more = page.Next, page.Next != ""
			c.pace.courtesy(ctx)
			if err := ctx.Err(); err != nil {
				return c.result, context.Cause(ctx)
			}
		}
	}
	return c.result, nil
}

// page changes what the filter takes of a page.
func (c *change) page(ctx context.Context, entries []store.Entry) error {
	c.result.Looked += int64(len(entries))
	var jobs []JobInfo
	for _, e := range entries {
		j, ok, err := c.q.examine(ctx, c.f, e)
		switch {
		case err != nil && j.ID == "":
			return err
		case err != nil:
			c.result.Matched++
			c.refuse(err)
		case ok && !c.late(j):
			jobs = append(jobs, j)
		}
	}
	c.result.Matched += int64(len(jobs))
	if c.o.DryRun {
		c.tell()
		return nil
	}
	for part := range slices.Chunk(jobs, c.pace.most()) {
		// A step that was begun is ended, so that what is told is what was done.
		if err := c.part(context.WithoutCancel(ctx), part); err != nil {
			return err
		}
		c.tell()
		if !c.pace.wait(ctx, len(part)) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// late tells whether a job came into its state after the begin: a change that followed those would never end.
func (c *change) late(j JobInfo) bool {
	if c.start.IsZero() {
		c.start = j.At
	}
	return j.EnqueuedAt.After(c.start) || c.once && j.StartedAt.After(c.start)
}

func (c *change) part(ctx context.Context, jobs []JobInfo) error {
	if c.move != nil {
		return c.moveAll(ctx, jobs)
	}
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	said, err := c.do(ctx, ids)
	for i, word := range said {
		err := c.q.changeError(ids[i], word)
		if errors.Is(err, ErrFull) {
			return fmt.Errorf("queue %s: %w", c.q.q.Name(), ErrFull)
		}
		c.count(err)
	}
	return err
}

// moveAll enqueues jobs elsewhere and deletes here those that are there then. Whoever repeats it finds duplicates.
func (c *change) moveAll(ctx context.Context, jobs []JobInfo) error {
	requests := make([]Request, len(jobs))
	for i, j := range jobs {
		requests[i] = Request{
			Queue: c.move.q.Name(), Kind: j.Kind, ID: j.ID, Payload: j.Payload, Headers: j.Headers, Priority: j.Priority,
			LIFO: j.LIFO, MaxFailures: j.MaxFailures, Retention: j.Retention, Version: j.Version,
		}
	}
	said, _ := c.q.client.EnqueueMany(ctx, requests) // each answer has its error
	for i, e := range said {
		switch {
		case errors.Is(e.Err, ErrConflict), errors.Is(e.Err, ErrInvalid):
			c.count(e.Err)
			continue
		case e.Err != nil:
			return e.Err
		}
		gone, err := c.q.q.Delete(ctx, store.DeleteOptions{}, jobs[i].ID)
		if err != nil {
			return err
		}
		c.count(c.q.changeError(jobs[i].ID, gone[0]))
	}
	return nil
}

func (c *change) count(err error) {
	if err != nil {
		c.refuse(err)
		return
	}
	c.result.Changed++
}

func (c *change) refuse(err error) {
	c.result.Refused++
	if c.result.Why == nil {
		c.result.Why = err
	}
}

func (c *change) tell() {
	if c.o.Progress != nil {
		c.o.Progress(c.result)
	}
}
