package waybilltest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/waybillhq/waybill"
)

// clock is the time that Advance has added. A job is due when the real time since it was scheduled, and what was
// advanced since then, make up its delay.
type clock struct {
	advanced time.Duration
	before   map[waiting]time.Duration // what had been advanced when the job was scheduled
}

// waiting is one stay of a job among those that wait for a time.
type waiting struct {
	queue, id string
	due       time.Time
}

// due is a job that Advance makes due.
type due struct {
	waiting
	after time.Duration // virtual time from now until it is due; negative where it is over
}

// Advance lets d pass for all jobs that wait for a time: those with a delay, those snoozed, and those to be retried. What
// is due then is ready, in the order of the times, and the next WorkAll runs it. A job that is enqueued, snoozed or
// fails later waits for its whole delay from then on, in real time and in later Advances.
//
// Redis's clock does not move: see the package's documentation.
func (e *Env) Advance(d time.Duration) {
	e.t.Helper()
	if d < 0 {
		e.t.Fatalf("waybilltest: advance by %s: time does not go back", d)
	}
	ctx, cancel := e.limited()
	defer cancel()
	for _, j := range e.clock.advance(d, e.waiting(ctx)) {
		err := e.Client.Queue(j.queue).Promote(ctx, j.id)
		if err != nil && !errors.Is(err, waybill.ErrState) && !errors.Is(err, waybill.ErrNotFound) { // it became due by itself
			e.t.Fatalf("waybilltest: advance by %s: %v", d, err)
		}
	}
}

// advance lets d pass and gives what is due, by its time. In what waits, after is real time.
func (c *clock) advance(d time.Duration, all []due) []due {
	before := make(map[waiting]time.Duration, len(all))
	var out []due
	for _, j := range all {
		at, known := c.before[j.waiting]
		if !known {
			at = c.advanced
		}
		before[j.waiting] = at
		if j.after -= c.advanced + d - at; j.after <= 0 {
			out = append(out, j)
		}
	}
	c.advanced += d
	c.before = before
	slices.SortStableFunc(out, func(a, b due) int { return int(a.after - b.after) })
	return out
}

// waiting gives all jobs that wait for a time.
func (e *Env) waiting(ctx context.Context) []due {
	e.t.Helper()
	var out []due
	for _, name := range e.queues(ctx) {
		for j, err := range e.Client.Queue(name).Jobs(ctx, waybill.Filter{States: timed}) {
			if err != nil {
				e.t.Fatalf("waybilltest: list queue %s: %v", name, err)
			}
			out = append(out, due{waiting{name, j.ID, j.DueAt}, j.DueAt.Sub(j.At)})
		}
	}
	return out
}

// timed are the states of jobs that wait for a time.
var timed = []waybill.State{waybill.StateScheduled, waybill.StateRetry}
