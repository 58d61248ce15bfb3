package waybill

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// Restore brings jobs back that were read elsewhere or before: by Get, by Jobs, or as JSON of an export. Each keeps its
// ID, payload, headers, options, counts, errors, the time of its enqueue, BornAt and Scope, and the state where it can:
//
//   - scheduled, retry and dead stay so; ready, parked, spilled and active become ready, in the order given,
//     behind those of their priority that wait; LIFO ones too.
//   - Of completed and cancelled ones the settled window remembers that they ended; results do not come back.
//   - A deleted one, or one of which only ID and state are known, is refused as ErrInvalid.
//
// Restoring twice is safe: the second time each is a duplicate. Capacity holds, for dead jobs not. Which ID was given
// and which generated is not known any more: all are remembered as given ones. Nor is when the last attempt began.
// One answer a job, in order, as EnqueueMany; so are the errors.
func (q *Queue) Restore(ctx context.Context, jobs []JobInfo) ([]Enqueued, error) {
	if q.err != nil {
		return nil, q.err
	}
	out := make([]Enqueued, len(jobs))
	var adds []store.Add
	var places []int
	for i, j := range jobs {
		out[i] = Enqueued{ID: j.ID, Queue: q.q.Name()}
		a, err := j.back(q.q.Name())
		if err == nil {
			err = j.checkBack()
		}
		if err == nil {
			err = record.CheckSize(j.Payload, q.client.maxPayload)
		}
		if err != nil {
			out[i].fail(OutcomeInvalid, err)
			continue
		}
		adds, places = append(adds, a), append(places, i)
	}
	for i, said := range q.q.Enqueue(ctx, adds, false) {
		out[places[i]].answer(said, false)
	}
	if len(adds) > 0 {
		_ = q.q.Register(ctx) // for a list that people read
	}
	return out, BulkErrorOf(out)
}

// back is the job as the store takes it, for a queue.
func (j JobInfo) back(queue string) (store.Add, error) {
	b := &store.Back{
		At: j.DueAt, EnqueuedAt: j.EnqueuedAt, Attempt: j.Attempt, Failures: j.Failures, Crashes: j.Crashes, Snoozes: j.Snoozes,
	}
	switch j.State {
	case StateScheduled, StateRetry, StateCompleted, StateCancelled:
		b.State = store.State(j.State)
	case StateDead:
		b.State, b.At = store.DeadState, j.FinishedAt
		if b.At.IsZero() {
			b.At = time.Date(lastYear, 1, 1, 0, 0, 0, 0, time.UTC) // which the script takes for now
		}
	case StateReady, StateParked, StateSpilled, StateActive:
		b.State = store.Ready
	default:
		return store.Add{}, invalid("state", "is %q: it can't be brought back", j.State)
	}
	if !j.Known {
		return store.Add{}, invalid("job", "%s is known by its ID alone: it can't be brought back", j.ID)
	}
	for _, e := range j.Errors {
		b.Errors = append(b.Errors, store.Error{
			Attempt: e.Attempt, At: e.At.UnixMilli(), Type: e.Type, Message: e.Message, Worker: e.Worker, Stack: e.Stack,
		})
	}
	job := record.Job{
		Kind: j.Kind, Payload: j.Payload, Named: true, Retention: j.Retention, MaxFailures: j.MaxFailures, Version: j.Version,
		Headers: j.Headers, Born: j.BornAt, Scope: scopeIn(queue, cmp.Or(j.Scope, j.Queue)),
		Event: ownEvent(j.ID, j.Event), Replay: j.Replay, Again: j.Again,
	}
	return store.Add{ID: j.ID, Priority: j.Priority, LIFO: j.LIFO, Job: job, Back: b}, job.Check(j.ID, j.Priority)
}

// Bounds of a job that is brought back. The errors are those that a queue keeps, each of at most 4 KiB of text and 4 KiB
// of stack, which JSON may spell up to six times as long.
const (
	mostErrors    = 10
	mostErrorSize = 6 * (8 << 10)
	lastYear      = 2500 // as of a due time
)

// checkBack checks what no other check of a job looks at. It may come from a file that hands have changed. Errors:
// ErrInvalid, by the names of the JSON's fields.
func (j JobInfo) checkBack() error {
	for _, c := range []struct {
		field string
		n     int
	}{{"attempt", j.Attempt}, {"failures", j.Failures}, {"crashes", j.Crashes}, {"snoozes", j.Snoozes}} {
		if c.n < 0 || c.n > math.MaxInt32 {
			return invalid(c.field, "is %d: from 0 to %d", c.n, math.MaxInt32)
		}
	}
	for _, t := range []struct {
		field string
		at    time.Time
	}{{"enqueued_at", j.EnqueuedAt}, {"due_at", j.DueAt}, {"finished_at", j.FinishedAt}, {"born_at", j.BornAt}} {
		if !t.at.IsZero() && (t.at.UnixMilli() < 0 || t.at.Year() > lastYear) {
			return invalid(t.field, "is %s: from 1970 to %d", t.at.Format(time.RFC3339), lastYear)
		}
	}
	if len(j.Errors) > mostErrors {
		return invalid("errors", "are %d: at most %d", len(j.Errors), mostErrors)
	}
	for _, e := range j.Errors {
		if size := len(e.Type) + len(e.Message) + len(e.Worker) + len(e.Stack); size > mostErrorSize {
			return invalid("error", "is %d bytes: at most %d", size, mostErrorSize)
		}
	}
	return nil
}
