package waybill

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// Restore brings jobs back that were read elsewhere or before: by Get, by Jobs, or as JSON of an export. Each keeps its
// ID, payload, headers, options, counts, errors and the time of its enqueue, and the state where it can:
//
//   - scheduled, retry and dead stay so; ready, parked, spilled and active become ready, in the order given.
//   - Of completed and cancelled ones the settled window remembers that they ended; results do not come back.
//   - A deleted one, or one of which only ID and state are known, is refused as ErrInvalid.
//
// Restoring twice is safe: the second time each is a duplicate. Capacity holds, for dead jobs not. Which ID was given
// and which generated is not known any more: all are remembered as given ones.
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
		a, err := j.back()
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
	return out, bulkError(out)
}

// back is the job as the store takes it.
func (j JobInfo) back() (store.Add, error) {
	b := &store.Back{
		At: j.DueAt, EnqueuedAt: j.EnqueuedAt, Attempt: j.Attempt, Failures: j.Failures, Crashes: j.Crashes, Snoozes: j.Snoozes,
	}
	switch j.State {
	case StateScheduled, StateRetry, StateCompleted, StateCancelled:
		b.State = store.State(j.State)
	case StateDead:
		b.State, b.At = store.DeadState, j.FinishedAt
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
		Headers: j.Headers, Born: j.BornAt,
	}
	return store.Add{ID: j.ID, Priority: j.Priority, LIFO: j.LIFO, Job: job, Back: b}, job.Check(j.ID, j.Priority)
}

// UnmarshalJSON reads what MarshalJSON gives. max_failures of a job that said none is read as the default's number.
func (j *JobInfo) UnmarshalJSON(b []byte) error {
	var o jobJSON
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	*j = JobInfo{ID: o.ID, Queue: o.Queue, State: o.State, Known: o.Kind != nil}
	times := map[*time.Time]*string{
		&j.EnqueuedAt: o.EnqueuedAt, &j.DueAt: o.DueAt, &j.StartedAt: o.StartedAt, &j.FinishedAt: o.FinishedAt,
		&j.LeaseEndsAt: o.LeaseEndsAt, &j.BornAt: o.BornAt,
	}
	for to, text := range times {
		if err := parseUTC(to, text); err != nil {
			return err
		}
	}
	if !j.Known {
		return nil
	}
	return o.into(j)
}

// into gives the job what is there for every job but those that only the window knows.
func (o *jobJSON) into(j *JobInfo) error {
	j.Kind, j.Payload, j.Result = *o.Kind, bytesOf(o.Payload, o.PayloadBase64), bytesOf(o.Result, o.ResultBase64)
	if j.Payload == nil {
		j.Payload = []byte{}
	}
	j.Attempt, j.Failures, j.Crashes, j.Snoozes = or(o.Attempt), or(o.Failures), or(o.Crashes), or(o.Snoozes)
	j.Priority, j.LIFO, j.MaxFailures, j.Version = or(o.Priority), or(o.LIFO), or(o.MaxFailures), or(o.Version)
	j.ResultDropped, j.CancelRequested = or(o.ResultDropped), or(o.CancelRequested)
	j.Retention = time.Duration(or(o.RetentionMS)) * time.Millisecond
	j.Token, j.Worker, j.Reason, j.Headers = or(o.Token), or(o.Worker), or(o.Reason), o.Headers
	for _, e := range o.Errors {
		x := JobError{Attempt: e.Attempt, Type: e.Type, Message: e.Message, Worker: or(e.Worker), Stack: or(e.Stack)}
		if err := parseUTC(&x.At, e.At); err != nil {
			return err
		}
		j.Errors = append(j.Errors, x)
	}
	if p := o.Progress; p != nil {
		j.Progress = &Progress{Percent: p.Percent, Note: p.Note}
		return parseUTC(&j.Progress.At, p.At)
	}
	return nil
}

func parseUTC(to *time.Time, text *string) (err error) {
	if text == nil {
		return nil
	}
	if *to, err = time.Parse(time.RFC3339, *text); err != nil {
		return fmt.Errorf("time %q: %w", *text, err)
	}
	return nil
}

func bytesOf(text *string, raw []byte) []byte {
	if text != nil {
		return []byte(*text)
	}
	return raw
}

func or[T any](v *T) (out T) {
	if v != nil {
		out = *v
	}
	return out
}
