package waybill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/runner"
)

// Job is an attempt with its arguments.
type Job[In any] struct {
	*Attempt
	Args In
}

// Attempt is one claim of a job.
type Attempt struct {
	ID, Queue, Kind string
	// Token proves that this attempt holds the job. It is not the same for any other attempt.
	Token   string
	Payload []byte
	Headers map[string]string
	// Number counts the claims of the job, from 1. Failures and Crashes count how earlier ones ended.
	Number, Failures, Crashes int
	// MaxFailures: the failure that kills; Unlimited = none does.
	MaxFailures int
	Priority    int
	Version     int       // of the payload's shape
	EnqueuedAt  time.Time // by Redis's clock
	DueAt       time.Time // when the job was first due
	// BornAt is the time by which receipts judge the job's age: when it was first due, unless it came from elsewhere with
	// an age of its own. It never changes, nor by a requeue, a move or a restore.
	BornAt time.Time
	// ClaimedAt is when this attempt began to hold the job, by Redis's clock; zero in an attempt made by hand.
	ClaimedAt time.Time
	// Event is the ID of the event in a subscription, which is the job's own ID unless a replay brought the job; "" elsewhere.
	Event string
	// Replay names the replay that brought the job again; "" = it is the event's first delivery, or no event's.
	Replay string
	// Scope is the queue in which the job was first enqueued. Receipts are kept by it, so that a job that is moved to
	// another queue keeps them.
	Scope string

	again bool            // a replay that repeats effects
	inner *runner.Attempt // nil: made by hand, for a test of a handler
}

// eventOf is the ID of the event that a job is of: its record says it, or in a subscription it is the job's own; "" = of none.
func eventOf(id, recorded, scope string) string {
	if recorded == "" && strings.Contains(scope, "/") {
		return id
	}
	return recorded
}

// ownEvent is the event as a record has it: "" where it is the job's own ID.
func ownEvent(id, event string) string {
	if event == id {
		return ""
	}
	return event
}

// EffectID is the ID by which the job's effects are known: its own; that of the event in a subscription, also in a replay, so
// that an effect that is there is not repeated; and in a replay that is to repeat effects one of its own.
func (a *Attempt) EffectID() string {
	switch {
	case a.Event == "":
		return a.ID
	case a.again:
		return shortened(a.Event+"/"+a.Replay, record.MaxID)
	}
	return a.Event
}

// Check asks Redis whether this attempt still holds the job, and renews the lease if so.
// Errors: ErrLeaseLost, ErrCancelled (held, but a cancel was asked for), ErrUnavailable, ErrUnknown.
func (a *Attempt) Check(ctx context.Context) error {
	if a.inner == nil {
		return nil
	}
	return a.inner.Check(ctx)
}

// Progress notes how far the attempt has come, for people to read: from 0 to 100 percent, and a line of at most 1 KiB
// of printable text, or "". The last one told counts. Where the job is no longer this attempt's nothing is written,
// and the handler's context ends.
// Errors: ErrInvalid (nothing was sent), ErrLeaseLost, ErrCancelled (noted, but a cancel was asked for),
// ErrUnavailable, ErrUnknown.
func (a *Attempt) Progress(ctx context.Context, percent int, note string) error {
	if a.inner == nil {
		return runner.CheckProgress(percent, note)
	}
	return a.inner.Progress(ctx, percent, note)
}

// Stopping is closed when the worker begins to stop, before the context ends: a long handler
// may save its place and return.
func (a *Attempt) Stopping() <-chan struct{} {
	if a.inner == nil {
		return nil
	}
	return a.inner.Stopping()
}

// IdempotencyKey is what to give an outside system, the same for every attempt of the job: KIND/ID, or in a subscription
// TOPIC/SUBSCRIPTION/EVENT, since another subscription does other work with the event; with steps behind; above 255 bytes
// its SHA-256 in hex.
func (a *Attempt) IdempotencyKey(step ...string) string {
	of := a.Kind
	if a.Event != "" {
		of = a.Scope
	}
	return shortened(strings.Join(append([]string{of, a.EffectID()}, step...), "/"), 255)
}

// shortened is a name of at most so many bytes: itself, or its SHA-256 in hex.
func shortened(name string, most int) string {
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// Handler runs one attempt and steers by the error it returns: nil, an error (retry by policy),
// RetryAfter, Snooze, Dead or Cancel.
type Handler func(ctx context.Context, a *Attempt) (result []byte, err error)

// Middleware wraps a handler.
type Middleware func(Handler) Handler

// String names the attempt for logs: without its token and its payload, which are nobody's business there.
func (a *Attempt) String() string {
	return fmt.Sprintf("attempt %d of job %s, kind %s, queue %s", a.Number, a.ID, a.Kind, a.Queue)
}
