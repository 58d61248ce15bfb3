package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Names of the ways to work off a plain Redis list.
const (
	wayPop      = "pop"
	wayAckFirst = "ack first"
	wayLate     = "late"
)

const payload = "add 10"

// listWays are workers on a list that take one job, or end where there is none.
func listWays() map[string]func(*worker, context.Context) error {
	return map[string]func(*worker, context.Context) error{
		wayPop:      (*worker).pop,
		wayAckFirst: (*worker).ackFirst,
		wayLate:     (*worker).late,
	}
}

func pending(queue string) string    { return "list:" + queue }
func processing(queue string) string { return "list:" + queue + ":processing" }
func holds(queue string) string      { return "list:" + queue + ":holds" } // tells that a worker has the job
func wakes(queue string) string      { return "list:" + queue + ":wakes" } // tells a worker to go on

// given says that a worker got a job, and where to die with it.
func (w *worker) given(err error) (bool, error) {
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err == nil {
		fmt.Println(took)
		w.dieAt(claimed)
	}
	return err == nil, err
}

// pop takes the job out of Redis: it is nowhere else.
func (w *worker) pop(ctx context.Context) error {
	if ok, err := w.given(w.rdb.RPop(ctx, pending(w.queue)).Err()); !ok {
		return err
	}
	return w.account.addAlone(ctx, amount)
}

// move takes the job and leaves a record of it in a second list.
func (w *worker) move(ctx context.Context) (bool, error) {
	return w.given(w.rdb.LMove(ctx, pending(w.queue), processing(w.queue), "RIGHT", "LEFT").Err())
}

// remove takes the record away, by its value.
func (w *worker) remove(ctx context.Context) error {
	return w.rdb.LRem(ctx, processing(w.queue), 1, payload).Err()
}

// ackFirst removes the record, and then does the work.
func (w *worker) ackFirst(ctx context.Context) error {
	if ok, err := w.move(ctx); !ok {
		return err
	}
	if err := w.remove(ctx); err != nil {
		return err
	}
	w.dieAt(between)
	return w.account.addAlone(ctx, amount)
}

// late takes a job and is held up until it is woken. Its time is over then, so it adds nothing; but it takes its record
// away, as it does whenever it leaves a job.
func (w *worker) late(ctx context.Context) error {
	if ok, err := w.move(ctx); !ok {
		return err
	}
	if err := w.rdb.RPush(ctx, holds(w.queue), "").Err(); err != nil {
		return err
	}
	if err := w.rdb.BLPop(ctx, patience, wakes(w.queue)).Err(); err != nil {
		return err
	}
	w.dieAt(between)
	return w.remove(ctx)
}
