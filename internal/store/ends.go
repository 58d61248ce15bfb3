package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// endsItems bounds one call of Ends; endsBytes the results that one reply brings, but one always comes.
const (
	endsItems = 100
	endsBytes = 4 << 20
)

// JobEnd is how a job ended, as far as that is still known.
type JobEnd struct {
	// State is CompletedState, CancelledState, DeadState, DeletedState, StateNone (not ended: it lives) or
	// GoneState (nothing is known).
	State         State
	Result        []byte // of a completed job; nil = none, or not kept any more
	ResultDropped bool   // there was one, too large to keep
	Reason        string // of a cancelled job; "" also where it is not kept any more
	LastError     string // of a dead job: the message of its last error
}

// Ends tells how jobs ended, in the order of ids. It costs a call for each hundred, and one more for
// each 4 MiB of results. Errors: ErrUnavailable; then nothing is told of any job.
func (q *Queue) Ends(ctx context.Context, ids []string) ([]JobEnd, error) {
	out := make([]JobEnd, len(ids))
	rest := make([]int, len(ids)) // places in out that are not answered
	for i := range rest {
		rest[i] = i
	}
	for len(rest) > 0 {
		n := min(len(rest), endsItems)
		again, err := q.ends(ctx, ids, rest[:n], out)
		if err != nil {
			return nil, err
		}
		if rest = rest[n:]; len(again) > 0 {
			rest = slices.Concat(again, rest)
		}
	}
	return out, nil
}

// ends asks for some of the IDs. It gives the places that are to be asked for again.
func (q *Queue) ends(ctx context.Context, ids []string, places []int, out []JobEnd) (again []int, err error) {
	args := make([]any, 1, 1+len(places))
	args[0] = endsBytes
	for _, i := range places {
		args = append(args, ids[i])
	}
	reply, _, err := q.call(ctx, "ends", args...)
	if err != nil {
		return nil, err
	}
	if len(reply) != 1+2*len(places) {
		return nil, fmt.Errorf("ends %q: %d values: %w", q.name, len(reply), errReply)
	}
	for k, i := range places {
		word, detail := text(reply[1+2*k]), text(reply[2+2*k])
		if word == "more" {
			again = append(again, i)
			continue
		}
		out[i] = jobEnd(word, detail)
	}
	if len(again) == len(places) {
		return nil, fmt.Errorf("ends %q: no result came: %w", q.name, errReply)
	}
	return again, nil
}

func jobEnd(word, detail string) JobEnd {
	e := JobEnd{State: State(word)}
	switch e.State {
	case "lives":
		e.State = StateNone
	case CompletedState:
		e.Result, e.ResultDropped = parseResult(detail)
	case CancelledState:
		e.Reason = detail
	case DeadState:
		var line Error
		if json.Unmarshal([]byte(detail), &line) == nil {
			e.LastError = line.Message
		}
	}
	return e
}

// parseResult reads a result as it is stored; "" = none.
func parseResult(stored string) (result []byte, dropped bool) {
	if stored == "" || stored[0] == resultDropped {
		return nil, stored != ""
	}
	return []byte(stored[1:]), false
}
