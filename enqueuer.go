package waybill

import (
	"context"
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

// enqueuer is the wrapped sending. An answer that the middleware lost is told as unknown.
func (c *Client) enqueuer() Enqueuer {
	c.mu.Lock()
	middleware, closed := c.middleware, c.closed
	c.mu.Unlock()
	send := c.enqueue
	if closed {
		send = refuseClosed
	}
	if len(middleware) == 0 {
		return send
	}
	next := Enqueuer(send)
	for _, wrap := range slices.Backward(middleware) {
		next = wrap(next)
	}
	return func(ctx context.Context, requests []Request) []Enqueued {
		out := next(ctx, requests)
		for i := range min(len(out), len(requests)) {
			out[i].complete(requests[i])
		}
		for i := len(out); i < len(requests); i++ {
			e := Enqueued{ID: requests[i].ID, Queue: requests[i].Queue}
			e.fail(OutcomeUnknown, fmt.Errorf("enqueue middleware gave %d answers to %d jobs: %w", i, len(requests), ErrUnknown))
			out = append(out, e)
		}
		return out[:len(requests)]
	}
}

// complete adds what middleware that answers by itself may leave out.
func (e *Enqueued) complete(r Request) {
	if e.ID == "" {
		e.ID, e.Queue = r.ID, r.Queue
	}
	if e.Outcome == "" && e.Err != nil {
		e.Outcome = OutcomeInvalid
	}
}

func refuseClosed(_ context.Context, requests []Request) []Enqueued {
	out := make([]Enqueued, len(requests))
	for i, r := range requests {
		out[i] = Enqueued{ID: r.ID, Queue: r.Queue}
		out[i].fail(OutcomeUnavailable, fmt.Errorf("%w: the client is closed", ErrUnavailable))
	}
	return out
}
