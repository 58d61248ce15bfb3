package waybill

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Enqueuer sends jobs and gives one answer a job, in order. Each request has its queue and ID.
type Enqueuer func(ctx context.Context, requests []Request) []Enqueued

// EnqueueMiddleware wraps the sending of jobs: it may change requests (headers with trace context, tenant), refuse
// them (an Enqueued with Err alone will do: its outcome is then OutcomeInvalid), log or measure. It is called from many
// goroutines, for lone jobs and for bulk.
type EnqueueMiddleware func(next Enqueuer) Enqueuer

// Use wraps every enqueue of this client from now on, the first outermost.
func (c *Client) Use(m ...EnqueueMiddleware) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.middleware = append(c.middleware, m...)
}

// errClosed says why a closed client does nothing.
var errClosed = errors.New("the client is closed")

// send sends through the middleware.
func (c *Client) send(ctx context.Context, requests []Request) []Enqueued {
	c.mu.Lock()
	middleware, closed := c.middleware, c.isClosed()
	if !closed {
		c.calls.Add(1)
	}
	c.mu.Unlock()
	if closed {
		return refuseClosed(requests)
	}
	defer c.calls.Done()
	return Through(c.enqueue, middleware...)(ctx, requests)
}

// Through is last with middleware around it, the first outermost; without any it is last. What it gives back is one answer a
// job, whatever the middleware says. It is for what enqueues by other ways than a Client, as package outbox does.
func Through(last Enqueuer, m ...EnqueueMiddleware) Enqueuer {
	if len(m) == 0 {
		return last
	}
	next := last
	for _, wrap := range slices.Backward(m) {
		next = wrap(next)
	}
	return func(ctx context.Context, requests []Request) []Enqueued {
		names := make([]Enqueued, len(requests)) // before the middleware may change them
		for i, r := range requests {
			names[i] = Enqueued{ID: r.ID, Queue: r.Queue}
		}
		return trusted(next(ctx, requests), names)
	}
}

// trusted are the answers of middleware, as far as they are answers. Where there are more or fewer than jobs it can't be
// told which is whose; where one says neither that its job was taken nor why not, nobody knows.
func trusted(out, names []Enqueued) []Enqueued {
	if len(out) != len(names) {
		err := fmt.Errorf("enqueue middleware gave %d answers to %d jobs: %w", len(out), len(names), ErrUnknown)
		for i := range names {
			names[i].fail(OutcomeUnknown, err)
		}
		return names
	}
	for i := range out {
		e := &out[i]
		if e.ID == "" {
			e.ID, e.Queue = names[i].ID, names[i].Queue
		}
		switch {
		case e.Err != nil && e.Outcome == "":
			e.Outcome = OutcomeInvalid
		case e.Err == nil && !e.Outcome.Taken():
			e.fail(OutcomeUnknown, fmt.Errorf("enqueue middleware gave outcome %q without an error to job %s: %w", e.Outcome, e.ID, ErrUnknown))
		}
	}
	return out
}

func refuseClosed(requests []Request) []Enqueued {
	out := make([]Enqueued, len(requests))
	for i, r := range requests {
		out[i] = Enqueued{ID: r.ID, Queue: r.Queue}
		out[i].fail(OutcomeUnavailable, fmt.Errorf("%w: %w", ErrUnavailable, errClosed))
	}
	return out
}
