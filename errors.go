package waybill

import (
	"errors"
	"fmt"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/runner"
	"github.com/waybillhq/waybill/internal/store"
)

// Errors of an enqueue. What is not one of these is a bug.
var (
	// ErrInvalid: the call breaks a limit that the error names; nothing was sent.
	ErrInvalid = record.ErrInvalid
	// ErrConflict: the ID names other work (another kind or payload); nothing changed.
	ErrConflict = errors.New("the id is taken by other work: another kind or payload")
	// ErrFull: the queue holds as many live jobs as its capacity allows. See FullError.
	ErrFull = errors.New("queue is full")
	// ErrNoSubscription: the topic has no subscription, and nothing bounds its stream: the event would be kept for ever.
	// Make a subscription, or give the topic a capacity.
	ErrNoSubscription = errors.New("no subscription, and no capacity: create a subscription, or set a capacity, first")
	// ErrUnavailable: Redis did not take the call; nothing happened. It is away, out of memory,
	// or does not permit it.
	ErrUnavailable = store.ErrUnavailable
	// ErrUnknown: the call was sent and no answer came. The job may be there: ask again with the
	// same ID, which Enqueued tells.
	ErrUnknown = store.ErrUnknown
)

// Errors of a wait for a job: see EndedError. ErrCancelled is also one.
var (
	// ErrDead: the job ended dead.
	ErrDead = errors.New("job is dead")
	// ErrDeleted: somebody deleted the job, or it was dead and cut over the queue's limits.
	ErrDeleted = errors.New("job deleted")
	// ErrNoResult: the job completed, and no result is kept: it has no retention, or the result was over the limit.
	ErrNoResult = errors.New("job completed; no result is kept")
)

// Errors about jobs that exist.
var (
	// ErrNotFound: nothing is known of the job. Beyond retention and window nobody can tell
	// whether it existed.
	ErrNotFound = store.ErrNotFound
	// ErrState: the job's state forbids what was asked.
	ErrState = errors.New("the job's state forbids it")
	// ErrNewer: a newer version of Waybill wrote the job's record; it is left alone.
	ErrNewer = store.ErrNewer
)

// ErrNoWorker says that no worker of this ID was there within the last 30 seconds.
var ErrNoWorker = store.ErrNoWorker

// Causes with which a handler's context ends: see context.Cause.
var (
	// ErrLeaseLost: the attempt's lease ran out, and its job was given to somebody else, or deleted.
	ErrLeaseLost = runner.ErrLeaseLost
	// ErrCancelled: somebody asked to cancel the job. Also of a wait: the job ended cancelled.
	ErrCancelled = runner.ErrCancelled
	// ErrTimeout: the attempt took longer than its kind's timeout.
	ErrTimeout = runner.ErrTimeout
	// ErrShutdown: the worker stops and its grace is over; the job is released.
	ErrShutdown = runner.ErrShutdown
)

// Errors of a worker's Run and DropQueue.
var (
	// ErrUnfinished: not all was in order at the end. Handlers did not return after the grace and their jobs were
	// released, or ends of attempts could not be recorded. Leases bring those jobs back.
	ErrUnfinished = runner.ErrUnfinished
)

// FullError says how full a queue is. It unwraps to ErrFull.
type FullError struct {
	Queue           string // or "topic:NAME"
	Depth, Capacity int64  // live jobs; entries of a topic's stream
}

func (e *FullError) Error() string {
	if topic, ok := store.TopicOf(e.Queue); ok {
		return fmt.Sprintf("topic %s is full (%d of %d)", topic, e.Depth, e.Capacity)
	}
	return fmt.Sprintf("queue %s is full (%d of %d)", e.Queue, e.Depth, e.Capacity)
}

// Unwrap makes errors.Is(err, ErrFull) true.
func (e *FullError) Unwrap() error { return ErrFull }

// BulkError says that some jobs of an EnqueueMany were not taken. It unwraps to the error of each.
type BulkError struct {
	Failed, Total int
	Errs          []error // of those that failed, in order
}

func (e *BulkError) Error() string {
	return fmt.Sprintf("%d of %d jobs were not taken; first: %v", e.Failed, e.Total, e.Errs[0])
}

// Unwrap gives the errors of all jobs that were not taken.
func (e *BulkError) Unwrap() []error { return e.Errs }

// EndedError says how a job that was waited for ended without completing. It unwraps to ErrDead, ErrCancelled or
// ErrDeleted.
type EndedError struct {
	ID, Queue string
	State     State  // StateDead, StateCancelled or StateDeleted
	Reason    string // of a cancel; may be ""
	LastError string // of a dead job; may be ""
}

func (e *EndedError) Error() string {
	text := fmt.Sprintf("job %s in queue %s ended %s", e.ID, e.Queue, e.State)
	for _, why := range []string{e.Reason, e.LastError} {
		if why != "" {
			text += ": " + why
		}
	}
	return text
}

// Unwrap makes errors.Is tell the three apart.
func (e *EndedError) Unwrap() error {
	switch e.State {
	case StateDead:
		return ErrDead
	case StateCancelled:
		return ErrCancelled
	default:
		return ErrDeleted
	}
}
