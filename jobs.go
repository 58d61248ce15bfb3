package waybill

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// Filter says which jobs Queue.Jobs gives: those for which all that is set holds. The zero value is all jobs.
type Filter struct {
	States        []State       // nil = every state that can be listed: all but StateDeleted
	Kind          string        // "" = every kind
	ErrorContains string        // part of the message of one of the job's errors, upper and lower case told apart; "" = any
	OlderThan     time.Duration // since the enqueue, by Redis's clock; 0 = any age
}

// Jobs walks the jobs of a queue, state by state: ready, scheduled, retry, parked, spilled, active, dead, then completed
// and cancelled ones together; within a state in the order in which they are to come, or came.
//
// It reads pages of at most 100 jobs with their payloads, one call each, while the caller goes on. A job that keeps its
// state is given once; one that changes it meanwhile may be given twice, or not at all. Result, Errors, Progress, Reason
// and CancelRequested are there only with ErrorContains, which costs one more call for each job that was ever claimed
// and passes the rest of the filter; else ask Get.
//
// An error beside a job's ID is of that job alone, and the walk goes on: ErrNewer, or a damaged record. Any
// other error ends it: ErrInvalid (a state that can't be listed), ErrUnavailable.
func (q *Queue) Jobs(ctx context.Context, f Filter) iter.Seq2[JobInfo, error] {
	return func(yield func(JobInfo, error) bool) {
		states, err := f.listed()
		if q.err != nil {
			err = q.err
		}
		if err != nil {
			yield(JobInfo{}, err)
			return
		}
		for _, s := range states {
			if !q.walk(ctx, f, s, yield) {
				return
			}
		}
	}
}

// listed gives the states to list, in the store's words. Errors: ErrInvalid.
func (f Filter) listed() ([]store.State, error) {
	all := []State{
		StateReady, StateScheduled, StateRetry, StateParked, StateSpilled, StateActive, StateDead, StateCompleted, StateCancelled,
	}
	for _, s := range f.States {
		if !slices.Contains(all, s) {
			return nil, &record.InputError{Field: "state", Why: fmt.Sprintf("%q can't be listed", s)}
		}
	}
	var out []store.State
	for _, s := range all {
		listed := store.State(s)
		if s == StateCompleted || s == StateCancelled {
			listed = store.EndedState
		}
		if (f.States == nil || slices.Contains(f.States, s)) && !slices.Contains(out, listed) {
			out = append(out, listed)
		}
	}
	return out, nil
}

// walk gives the jobs of one state; false where that was the end.
func (q *Queue) walk(ctx context.Context, f Filter, s store.State, yield func(JobInfo, error) bool) bool {
	for e, err := range q.q.All(ctx, s, false) {
		j, ok := JobInfo{}, true
		if err == nil {
			j, ok, err = q.examine(ctx, f, e)
		}
		if ok && !yield(j, err) || err != nil && j.ID == "" {
			return false
		}
	}
	return true
}

// examine tells whether a job passes the filter. An error beside an ID is of that job alone.
func (q *Queue) examine(ctx context.Context, f Filter, e store.Entry) (j JobInfo, ok bool, err error) {
	if errors.Is(e.Err, ErrNotFound) { // it left meanwhile
		return j, false, nil
	}
	j = JobInfo{ID: e.ID, Queue: q.q.Name()}
	if e.Err != nil {
		return j, true, fmt.Errorf("job %s in queue %s: %w", j.ID, j.Queue, e.Err)
	}
	info := jobInfo(j.Queue, e.Info)
	if !f.takes(info) || f.ErrorContains == "" || info.Attempt == 0 {
		return info, f.takes(info) && f.ErrorContains == "", nil
	}
	switch info, err = q.Get(ctx, j.ID); {
	case errors.Is(err, ErrNotFound):
		return j, false, nil
	case errors.Is(err, ErrNewer), errors.Is(err, record.ErrDamaged):
		return j, true, err
	case err != nil:
		return JobInfo{}, true, err
	}
	return info, f.takes(info) && f.failedWith(info), nil
}

// takes tells whether all but the errors passes.
func (f Filter) takes(j JobInfo) bool {
	return (f.States == nil || slices.Contains(f.States, j.State)) && (f.Kind == "" || f.Kind == j.Kind) &&
		j.At.Sub(j.EnqueuedAt) >= f.OlderThan
}

func (f Filter) failedWith(j JobInfo) bool {
	return slices.ContainsFunc(j.Errors, func(e JobError) bool { return strings.Contains(e.Message, f.ErrorContains) })
}
