package store

import (
	"context"
	"fmt"
	"slices"
)

// Change is the word in which a job answers an operator's wish.
type Change string

// Changes. What each verb may answer stands on top of its script.
const (
	Cancelled  Change = "cancelled"
	Requested  Change = "requested" // active: a cancel is asked for
	Deleted    Change = "deleted"
	Forgotten  Change = "forgotten" // delete: only the window knew the job
	Active     Change = "active"    // delete: refused, an attempt holds the job
	Requeued   Change = "requeued"
	FullNow    Change = "full" // requeue: refused, the queue is at its capacity
	Promoted   Change = "promoted"
	WrongState Change = "state" // the job's state forbids it
	Ended      Change = "ended" // cancel: the job has ended before
	Absent     Change = "gone"
	Newer      Change = "newer" // the record has a newer format and is left alone
	// Unsure: a reply was lost, and the call that was sent again was refused, perhaps because the first had done it.
	Unsure Change = "unsure"
)

// refusals are the words that may come from a call that was carried out before.
var refusals = []Change{WrongState, Ended, Absent, FullNow}

// Cancel ends waiting jobs as cancelled, with a reason, and asks for it where an attempt runs.
func (q *Queue) Cancel(ctx context.Context, reason string, ids ...string) ([]Change, error) {
	return q.change(ctx, "cancel", ids, reason)
}

// DeleteOptions of Delete; the zero value refuses active jobs and remembers deleted ones.
type DeleteOptions struct {
	Force  bool // delete active jobs too: their tokens become stale
	Forget bool // the ID may be enqueued anew at once
}

// Delete removes jobs with all that belongs to them.
func (q *Queue) Delete(ctx context.Context, o DeleteOptions, ids ...string) ([]Change, error) {
	words := ""
	if o.Force {
		words = "force"
	}
	if o.Forget {
		words += ",forget"
	}
	return q.change(ctx, "delete", ids, words)
}

// Requeue makes dead jobs ready again, as far as capacity allows.
func (q *Queue) Requeue(ctx context.Context, ids ...string) ([]Change, error) {
	return q.change(ctx, "requeue", ids)
}

// Promote makes scheduled and retrying jobs ready now.
func (q *Queue) Promote(ctx context.Context, ids ...string) ([]Change, error) {
	return q.change(ctx, "promote", ids)
}

// change sends one verb over IDs, in bounded calls. Where a call brings no answer it stops, and
// gives what was answered so far with the error: send the rest again.
func (q *Queue) change(ctx context.Context, verb string, ids []string, options ...any) ([]Change, error) {
	out := make([]Change, 0, len(ids))
	for len(ids) > 0 {
		n := min(len(ids), 100)
		args := append(make([]any, 0, len(options)+n), options...)
		for _, id := range ids[:n] {
			args = append(args, id)
		}
		reply, unsure, err := q.call(ctx, verb, args...)
		if err != nil {
			return out, err
		}
		said, err := words(reply, 1, n)
		if err != nil {
			return out, fmt.Errorf("%s: %w", verb, err)
		}
		for _, w := range said {
			change := Change(w)
			if unsure && slices.Contains(refusals, change) {
				change = Unsure
			}
			out = append(out, change)
		}
		ids = ids[n:]
	}
	return out, nil
}

// Purged is the answer to one step of a purge.
type Purged struct {
	Deleted int64
	Left    int64 // of the state, ghosts included
}

// Purge deletes up to most (at most 500) jobs of a state: ready, scheduled, retry, parked, spilled,
// dead or ended. Repeat it until nothing is left; stop and go on at will.
func (q *Queue) Purge(ctx context.Context, state State, most int) (Purged, error) {
	switch state {
	case Ready, Scheduled, RetryState, Parked, SpilledState, DeadState, EndedState:
	default:
		return Purged{}, bad("state", "%q can't be purged", state)
	}
	reply, _, err := q.call(ctx, "purge", string(state), max(1, min(most, 500)))
	if err != nil {
		return Purged{}, err
	}
	if len(reply) != 3 {
		return Purged{}, fmt.Errorf("purge: %w", errReply)
	}
	return Purged{number(reply[1]), number(reply[2])}, nil
}
