package waybill

import (
	"context"
	"errors"
	"fmt"

	"github.com/waybillhq/waybill/internal/store"
)

// moveAll enqueues jobs elsewhere and deletes here those that are there then. Whoever repeats it finds duplicates. The
// error is the first that is not of one job alone; what was taken there before or after it is deleted here all the same.
func (c *change) moveAll(ctx context.Context, jobs []JobInfo) error {
	requests := make([]Request, len(jobs))
	for i, j := range jobs {
		requests[i] = Request{
			Queue: c.move.q.Name(), Kind: j.Kind, ID: j.ID, Payload: j.Payload, Headers: j.Headers, Priority: j.Priority,
			LIFO: j.LIFO, MaxFailures: j.MaxFailures, Retention: j.Retention, Version: j.Version,
			born: j.BornAt, scope: j.Scope, event: ownEvent(j.ID, j.Event), replay: j.Replay, again: j.Again, // what it did here is known there
		}
	}
	said, _ := c.q.client.EnqueueMany(ctx, requests) // each answer has its error
	var ending error
	for i, e := range said {
		err := e.Err
		if e.Outcome == OutcomeDuplicate {
			err = c.known(ctx, requests[i])
		}
		switch {
		case errors.Is(err, ErrConflict), errors.Is(err, ErrInvalid), errors.Is(err, ErrState), errors.Is(err, ErrNewer):
			c.count(err)
			continue
		case err != nil && ending == nil:
			ending = err
		}
		if err != nil {
			continue
		}
		gone, err := c.q.q.Delete(ctx, store.DeleteOptions{}, jobs[i].ID)
		if err != nil {
			return err
		}
		c.count(c.q.changeError(jobs[i].ID, gone[0]))
	}
	return ending
}

// known says whether a duplicate is in its new queue, as what an earlier move or enqueue left there, alive or completed. One
// that is remembered there as deleted, as after a move from there, is enqueued all the same.
func (c *change) known(ctx context.Context, r Request) error {
	j, err := c.move.Get(ctx, r.ID)
	switch {
	case err == nil && j.State == StateDeleted:
		err = c.move.Delete(ctx, r.ID, DeleteOptions{Forget: true})
	case err == nil && (j.State == StateDead || j.State == StateCancelled):
		return fmt.Errorf("job %s is %s in queue %s: %w", r.ID, j.State, r.Queue, ErrState)
	case err == nil:
		return nil
	}
	if err != nil && !errors.Is(err, ErrNotFound) { // not found: it was forgotten meanwhile
		return err
	}
	e, err := c.q.client.Enqueue(ctx, r)
	if e.Outcome == OutcomeDuplicate {
		return fmt.Errorf("job %s in queue %s: %w", r.ID, r.Queue, ErrState)
	}
	return err
}
