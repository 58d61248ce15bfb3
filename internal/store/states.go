package store

import "context"

// States tells the states of jobs, in the order of ids: StateNone where nothing is known, DeletedState where only the
// window knows the job, NewerState where its record is of a newer format. It costs a call for each thousand.
// Errors: ErrUnavailable; then nothing is told of any job.
func (q *Queue) States(ctx context.Context, ids []string) ([]State, error) {
	out := make([]State, 0, len(ids))
	for from := 0; from < len(ids); from += maxItems {
		some := ids[from:min(from+maxItems, len(ids))]
		args := make([]any, len(some))
		for i, id := range some {
			args[i] = id
		}
		reply, _, err := q.call(ctx, "states", args...)
		if err != nil {
			return nil, err
		}
		said, err := words(reply, 1, len(some))
		if err != nil {
			return nil, err
		}
		for _, word := range said {
			out = append(out, stateSaid(word))
		}
	}
	return out, nil
}

func stateSaid(word string) State {
	if s := State(word); s != GoneState {
		return s
	}
	return StateNone
}
