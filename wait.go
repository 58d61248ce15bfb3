package waybill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/await"
	"github.com/waybillhq/waybill/internal/codec"
	"github.com/waybillhq/waybill/internal/store"
)

// CallRetention is how long Call keeps the ended job and its result at least, so that the answer can be read also
// when it is told late.
const CallRetention = time.Minute

// Wait returns when the job has ended: nil where it completed. It hears of the end by pub/sub and looks for itself
// every second or so, so a lost notice costs a second. Redis being away is waited out: give ctx a deadline.
// Errors: *EndedError, which is ErrDead, ErrCancelled or ErrDeleted; ErrNotFound where nothing is known of the job
// (beyond retention and window nobody can tell whether it existed); ctx's error; ErrUnavailable where the client
// is closed.
func (k *Kind[In]) Wait(ctx context.Context, c *Client, id string) error {
	_, err := c.Queue(k.o.Queue).Wait(ctx, id)
	if errors.Is(err, ErrNoResult) {
		return nil
	}
	return err
}

// Wait returns the result when the job has ended; as Kind.Wait. ErrNoResult: it completed and no result is kept,
// because the job has no retention, or it is over, or the result was over its limit.
func (k *ResultKind[In, Out]) Wait(ctx context.Context, c *Client, id string) (Out, error) {
	var out Out
	result, err := c.Queue(k.o.Queue).Wait(ctx, id)
	if err != nil {
		return out, err
	}
	if err := codec.Decode(result, &out); err != nil {
		return out, fmt.Errorf("decode result of job %s, kind %s: %w", id, k.name, err)
	}
	return out, nil
}

// Call enqueues a job and waits for its result. The job is kept for at least CallRetention, unless it was there before:
// then the retention of the first enqueue stands. Where ctx ends the job stays and is done all the same: Call is to be
// repeated with the same ID, or not at all.
// Errors: as Enqueue and as Wait.
func (k *ResultKind[In, Out]) Call(ctx context.Context, c *Client, args In, o ...EnqueueOption) (Out, error) {
	r := k.Request(args, o...)
	r.Retention = max(r.Retention, CallRetention)
	e, err := c.Enqueue(ctx, r)
	if err != nil {
		var none Out
		return none, fmt.Errorf("call job %s: %w", e.ID, err)
	}
	return k.On(e.Queue).Wait(ctx, c, e.ID)
}

// Wait returns the result of a job when it has ended, untyped; as ResultKind.Wait.
func (q *Queue) Wait(ctx context.Context, id string) ([]byte, error) {
	if q.err != nil {
		return nil, q.err
	}
	end, err := q.q.waits.Wait(ctx, id)
	switch {
	case errors.Is(err, await.ErrClosed):
		return nil, fmt.Errorf("wait for job %s: %w: %w", id, ErrUnavailable, err)
	case err != nil:
		return nil, err
	}
	return q.ended(id, end)
}

// ended is what the end of a job says to those who wait.
func (q *Queue) ended(id string, end store.JobEnd) ([]byte, error) {
	e := &EndedError{ID: id, Queue: q.q.Name(), State: State(end.State), Reason: end.Reason, LastError: end.LastError}
	switch end.State {
	case store.CompletedState:
		if end.Result == nil {
			return nil, fmt.Errorf("job %s in queue %s: %w", id, q.q.Name(), ErrNoResult)
		}
		return bytes.Clone(end.Result), nil // others may wait for it too
	case store.DeadState, store.CancelledState, store.DeletedState:
		return nil, e
	}
	return nil, fmt.Errorf("job %s in queue %s: %w", id, q.q.Name(), ErrNotFound)
}
