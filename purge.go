package waybill

import (
	"context"

	"github.com/waybillhq/waybill/internal/store"
)

// Purge deletes all jobs of one state, as DeleteAll does, without reading them: for many. StateActive can't be purged;
// jobs that come into the state meanwhile are purged too, up to as many as were there at the begin. It goes in bounded
// steps; after an error, or when ctx ends, the same call goes on where it stopped. Errors: as RequeueAll.
func (q *Queue) Purge(ctx context.Context, s State, o BulkOptions) (BulkResult, error) {
	switch s {
	case StateReady, StateScheduled, StateRetry, StateParked, StateSpilled, StateDead:
	case StateCompleted, StateCancelled: // one index holds both
		return q.DeleteAll(ctx, Filter{States: []State{s}}, DeleteOptions{}, o)
	default:
		return BulkResult{}, invalid("state", "is %q: it can't be purged", s)
	}
	c := q.newChange("purge", Filter{}, o, s)
	if c.err != nil {
		return BulkResult{}, c.err
	}
	stats, err := q.Stats(ctx)
	if err != nil {
		return BulkResult{}, err
	}
	c.result.Looked = stats.In(s)
	c.result.Matched = c.result.Looked
	if o.DryRun {
		return c.result, nil
	}
	return c.purge(ctx, store.State(s))
}

// purge deletes step by step until nothing is left, or nothing can be: records of a newer format stay.
func (c *change) purge(ctx context.Context, s store.State) (BulkResult, error) {
	for left := int64(-1); c.result.Changed < c.result.Matched; {
		c.pace.begin()
		most := min(int64(c.pace.most()), c.result.Matched-c.result.Changed)
		step, err := c.q.q.Purge(context.WithoutCancel(ctx), s, int(most)) // as part
		if err != nil {
			return c.result, err
		}
		c.result.Changed += step.Deleted
		c.tell()
		if step.Left == 0 || step.Deleted == 0 && step.Left == left {
			break
		}
		left = step.Left
		if c.pace.courtesy(ctx); !c.pace.wait(ctx, int(step.Deleted)) {
			return c.result, context.Cause(ctx)
		}
	}
	return c.result, nil
}
