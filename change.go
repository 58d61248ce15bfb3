package waybill

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// changeStep is how many jobs one step of a bulk change looks at. A call takes about a millisecond then, and whatever
// else Redis does waits no longer.
const changeStep = 25

// maxRate bounds BulkOptions.Rate.
const maxRate = 1e6

// BulkOptions of a change of many jobs. The zero value changes all that the filter takes, as fast as is good for others.
type BulkOptions struct {
	DryRun bool // count what the filter takes, and change nothing
	// Rate is how many jobs a second are changed at most, to 1,000,000; 0 = no bound but courtesy: after each step twice
	// as much time is left to others as it took.
	Rate float64
	// To is the queue that RequeueAll moves the jobs to, under their IDs; "" = their own.
	To string
	// Progress is told how far it is after each step of at most 25 jobs, on the caller's goroutine; nil = nobody.
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
// A job that is moved is first enqueued there and then deleted here; it counts as enqueued anew, and keeps its BornAt and
// Scope, by which receipts know what it did. Where its ID is known
// there as that of a dead or cancelled job it stays (ErrState), so that nothing is lost.
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
	start  time.Time // of the change, by Redis's clock
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
	begin, err := c.q.Stats(ctx)
	if err != nil {
		return c.result, err
	}
	c.start = begin.Now
	for _, s := range c.states {
		if err := c.walk(ctx, s, begin); err != nil {
			return c.result, err
		}
	}
	return c.result, nil
}

// walkSlack is how many jobs a walk looks at beyond twice those that were there, before it ends where only later ones come.
const walkSlack = 10 * changeStep

// walk changes what the filter takes of a state. Jobs may come faster than they are looked at: it ends all the same.
func (c *change) walk(ctx context.Context, s store.State, begin QueueStats) error {
	most := c.result.Looked + 2*begin.In(State(s)) + walkSlack
	for cursor, more := "", true; more; {
		c.pace.begin()
		page, err := c.q.q.List(ctx, s, cursor, changeStep, false)
		if err != nil {
			return err
		}
		older, err := c.page(ctx, page.Entries)
		if err != nil {
			return err
		}
		cursor, more = page.Next, page.Next != "" && (older > 0 || c.result.Looked < most)
		c.pace.courtesy(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// page changes what the filter takes of a page. older is how many of its jobs did not come after the begin.
func (c *change) page(ctx context.Context, entries []store.Entry) (older int, err error) {
	c.result.Looked += int64(len(entries))
	var jobs []JobInfo
	for _, e := range entries {
		if c.late(e) {
			continue
		}
		older++
		j, ok, err := c.q.examine(ctx, c.f, e)
		switch {
		case err != nil && j.ID == "":
			return older, err
		case err != nil:
			c.result.Matched++
			c.refuse(err)
		case ok:
			jobs = append(jobs, j)
		}
	}
	c.result.Matched += int64(len(jobs))
	if c.o.DryRun || len(jobs) == 0 {
		c.tell()
		return older, nil
	}
	for part := range slices.Chunk(jobs, c.pace.most()) {
		// A step that was begun is ended, so that what is told is what was done.
		if err := c.part(context.WithoutCancel(ctx), part); err != nil {
			return older, err
		}
		c.tell()
		if !c.pace.wait(ctx, len(part)) {
			return older, context.Cause(ctx)
		}
	}
	return older, nil
}

// late tells whether a job came into its state after the begin: a change that followed those would never end.
func (c *change) late(e store.Entry) bool {
	return e.Err == nil && (e.Info.Record.EnqueuedAt.After(c.start) || c.once && e.Info.StartedAt.After(c.start))
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
			return c.q.full(ctx)
		}
		c.count(err)
	}
	return err
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
