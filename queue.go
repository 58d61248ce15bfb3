package waybill

import (
	"context"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// Queue looks at one queue and its jobs, for tools: untyped, by ID.
type Queue struct {
	client *Client
	q      *knownQueue
	err    error // of the name, told by every method
}

// Queue gives a queue by name. It sends nothing; a bad name is told by the first method as ErrInvalid.
func (c *Client) Queue(name string) *Queue {
	name = orDefault(name)
	if err := store.CheckQueue(name); err != nil {
		return &Queue{client: c, err: err}
	}
	q, err := c.queue(name)
	return &Queue{client: c, q: q, err: err}
}

// Queues lists the names of all queues that clients wrote to, in no order. Errors: ErrUnavailable.
func (c *Client) Queues(ctx context.Context) ([]string, error) { return c.store.Queues(ctx) }

// Get tells all that is known of a job. Errors: ErrNotFound, ErrNewer, ErrUnavailable.
func (q *Queue) Get(ctx context.Context, id string) (JobInfo, error) {
	if q.err != nil {
		return JobInfo{}, q.err
	}
	info, err := q.q.Get(ctx, id)
	if err != nil {
		return JobInfo{}, err
	}
	j := jobInfo(q.q.Name(), info)
	if j.State == StateActive {
		j.Host = q.client.hostOf(ctx, j.Worker)
	}
	return j, nil
}

// Stats tells how the queue stands. A queue that nobody wrote to is empty. Errors: ErrUnavailable.
func (q *Queue) Stats(ctx context.Context) (QueueStats, error) {
	if q.err != nil {
		return QueueStats{}, q.err
	}
	s, err := q.q.Stats(ctx)
	if err != nil {
		return QueueStats{}, err
	}
	return QueueStats(s), nil
}

// QueueSettings to change; nil leaves a setting as it is. Unlimited lifts a bound, 0 is 0.
type QueueSettings struct {
	Capacity        *int64         // live jobs; default Unlimited
	CrashAllowance  *int64         // crashes forgiven, the next one kills; default 5
	DeadCount       *int64         // dead jobs kept; default 10,000
	DeadAge         *time.Duration // how long dead jobs are kept; default 90 days
	WindowGenerated *time.Duration // how long an ended job with a generated ID is known at least; default 60 s
	WindowNamed     *time.Duration // the same for given IDs; default 1 h
	WindowCount     *int64         // most jobs in a generation of the window; default 1,000,000
	// Lease is that of workers whose own options say none; from 100 ms to 1 h, default 30 s. Workers read it when they
	// start.
	Lease *time.Duration
}

// Settings gives all settings of the queue, none nil; what was never set has its default. Errors: ErrUnavailable.
func (q *Queue) Settings(ctx context.Context) (QueueSettings, error) {
	if q.err != nil {
		return QueueSettings{}, q.err
	}
	s, err := q.q.Settings(ctx)
	return QueueSettings(s), err
}

// Set changes settings. Errors: ErrInvalid, ErrUnavailable, ErrUnknown.
func (q *Queue) Set(ctx context.Context, s QueueSettings) error {
	if q.err != nil {
		return q.err
	}
	if err := q.q.Configure(ctx, store.Settings(s)); err != nil {
		return err
	}
	_ = q.q.Register(ctx) // for a list that people read
	return nil
}

// Pause stops the delivery of jobs of this queue; by says who, for people to read.
func (q *Queue) Pause(ctx context.Context, by string) error {
	if q.err != nil {
		return q.err
	}
	if err := q.q.Pause(ctx, by); err != nil {
		return err
	}
	_ = q.q.Register(ctx) // for a list that people read
	return nil
}

// Resume lets delivery go on.
func (q *Queue) Resume(ctx context.Context) error {
	if q.err != nil {
		return q.err
	}
	return q.q.Resume(ctx)
}

// Cancel ends a waiting job as cancelled, or asks the attempt that runs it to stop. The reason is kept for people to read:
// one line of at most 1 KiB of printable text.
// Errors: ErrInvalid, ErrNotFound, ErrState (it has ended), ErrNewer, ErrUnavailable, ErrUnknown (a reply was lost; the
// job may be cancelled).
func (q *Queue) Cancel(ctx context.Context, id, reason string) error {
	if err := record.CheckLine("reason", reason); err != nil {
		return err
	}
	return q.one(ctx, id, func() ([]store.Change, error) { return q.q.Cancel(ctx, reason, id) })
}

// Requeue makes a dead job ready again: an admission, so capacity applies. Failures and crashes count
// from zero; attempts and errors stay. Errors: as Cancel, and ErrFull.
func (q *Queue) Requeue(ctx context.Context, id string) error {
	return q.one(ctx, id, func() ([]store.Change, error) { return q.q.Requeue(ctx, id) })
}

// Promote makes a scheduled or retrying job ready now. Errors: as Cancel.
func (q *Queue) Promote(ctx context.Context, id string) error {
	return q.one(ctx, id, func() ([]store.Change, error) { return q.q.Promote(ctx, id) })
}

// DeleteOptions of Delete. The zero value refuses an active job, and remembers the deleted one
// within the window, so that a late repeat of its enqueue does not bring it back.
type DeleteOptions struct {
	Force  bool // delete an active job too: its attempt finds its lease lost, and changes nothing
	Forget bool // do not remember it: its ID may be enqueued anew at once
}

// Delete removes a job and all that belongs to it. Errors: as Cancel; ErrState where it is active
// and Force is not set.
func (q *Queue) Delete(ctx context.Context, id string, o DeleteOptions) error {
	return q.one(ctx, id, func() ([]store.Change, error) { return q.q.Delete(ctx, store.DeleteOptions(o), id) })
}

func (q *Queue) one(ctx context.Context, id string, do func() ([]store.Change, error)) error {
	if q.err != nil {
		return q.err
	}
	said, err := do()
	if err != nil {
		return err
	}
	if said[0] == store.FullNow {
		return fmt.Errorf("job %s: %w", id, q.full(ctx))
	}
	return q.changeError(id, said[0])
}

// full says how full the queue is that refused a job.
func (q *Queue) full(ctx context.Context) error {
	s, err := q.Stats(ctx)
	if err != nil {
		return fmt.Errorf("queue %s: %w", q.q.Name(), ErrFull)
	}
	return &FullError{q.q.Name(), s.Live(), s.Capacity}
}

// changeError says why a change was refused; nil where it was made.
func (q *Queue) changeError(id string, c store.Change) error {
	switch c {
	case store.Absent:
		return fmt.Errorf("job %s in queue %s: %w", id, q.q.Name(), ErrNotFound)
	case store.Active:
		return fmt.Errorf("job %s in queue %s is active: %w", id, q.q.Name(), ErrState)
	case store.WrongState, store.Ended:
		return fmt.Errorf("job %s in queue %s: %w", id, q.q.Name(), ErrState)
	case store.FullNow:
		return fmt.Errorf("job %s: queue %s: %w", id, q.q.Name(), ErrFull)
	case store.Unsure:
		return fmt.Errorf("job %s in queue %s: a reply was lost, so this may have been done: %w", id, q.q.Name(), ErrUnknown)
	case store.Newer:
		return fmt.Errorf("job %s in queue %s: %w", id, q.q.Name(), ErrNewer)
	}
	return nil
}
