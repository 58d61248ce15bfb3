package receipt

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/dialect"
)

// EventType says what happened to an effect.
type EventType string

// Types of events. Each call ends with one of the first five; the last two come before it.
const (
	EventApplied  EventType = "applied"
	EventReplayed EventType = "replayed"
	EventMismatch EventType = "mismatch"
	EventHorizon  EventType = "horizon"
	EventFailed   EventType = "failed"  // any other error: of the user's function, or of the database
	EventRetried  EventType = "retried" // the database gave a transaction up
	EventBlocked  EventType = "blocked" // it waited for another one's lock in vain
)

// Event is something that happened to an effect, for metrics.
type Event struct {
	Type           EventType
	Scope, ID, Job string
	Took           time.Duration // of the whole call, with its tries; 0 for retried and blocked
	Err            error
}

// Counts are what the Receipts of this process have seen. The queue's own counters are in its stats.
type Counts struct {
	Applied, Replayed, Mismatches, Horizons, Failed int64 // calls
	Retried, Blocked                                int64 // tries of transactions
}

// Keys of log attributes.
const (
	keyScope   = "scope"
	keyReceipt = "receipt"
	keyError   = "error"
)

type counters struct{ applied, replayed, mismatches, horizons, failed, retried, blocked atomic.Int64 }

// Counts gives the counts since New.
func (r *Receipts) Counts() Counts {
	c := &r.counts
	return Counts{
		Applied: c.applied.Load(), Replayed: c.replayed.Load(), Mismatches: c.mismatches.Load(), Horizons: c.horizons.Load(),
		Failed: c.failed.Load(), Retried: c.retried.Load(), Blocked: c.blocked.Load(),
	}
}

func (r *Receipts) tell(e Event) {
	r.counts.of(e.Type).Add(1)
	if r.o.Observe != nil {
		r.observe(e)
	}
}

// observe calls the user's function. Its panics are logged, and not the job's: the effect may stand already.
func (r *Receipts) observe(e Event) {
	defer func() {
		if p := recover(); p != nil {
			r.o.Log.Error("receipt: the observer panicked", slog.String(keyScope, e.Scope), slog.String(keyReceipt, e.ID),
				slog.Any(keyError, p))
		}
	}()
	r.o.Observe(e)
}

func (c *counters) of(t EventType) *atomic.Int64 {
	switch t {
	case EventApplied:
		return &c.applied
	case EventReplayed:
		return &c.replayed
	case EventMismatch:
		return &c.mismatches
	case EventHorizon:
		return &c.horizons
	case EventRetried:
		return &c.retried
	case EventBlocked:
		return &c.blocked
	}
	return &c.failed
}

// retried hears of a transaction that the database gave up.
func (r *Receipts) retried(ctx context.Context, k Key, f dialect.Fault, err error) {
	if errors.Is(err, errNoMark) {
		return // our own step
	}
	e := Event{Type: EventRetried, Scope: k.Scope, ID: k.ID, Job: k.Job, Err: err}
	if f == dialect.Blocked {
		e.Type = EventBlocked
		r.o.Log.WarnContext(ctx, "receipt: blocked by another transaction, tried again", slog.String(keyScope, k.Scope),
			slog.String(keyReceipt, k.ID), slog.String(keyError, err.Error()))
	}
	r.tell(e)
}

// ended counts what became of a call. Only now: a transaction may be run more than once.
func ended[Out any](r *Receipts, k Key, res Result[Out], err error, began time.Time) (Result[Out], error) {
	e := Event{Type: EventFailed, Scope: k.Scope, ID: k.ID, Job: k.Job, Took: time.Since(began), Err: err}
	switch {
	case errors.Is(err, ErrMismatch):
		e.Type = EventMismatch
		k.count(waybill.EffectMismatch)
	case errors.Is(err, ErrHorizon):
		e.Type = EventHorizon
	case err != nil && !errors.Is(err, ErrResult):
	case res.Outcome == Replayed:
		e.Type = EventReplayed
		k.replayed()
	case res.Outcome == Applied:
		e.Type = EventApplied
		k.count(waybill.EffectApplied)
	}
	r.tell(e)
	if err != nil && !errors.Is(err, ErrResult) {
		return Result[Out]{}, err
	}
	return res, err
}
