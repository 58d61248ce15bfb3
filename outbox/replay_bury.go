package outbox

import (
	"context"
	"errors"

	"github.com/waybillhq/waybill/internal/store"
)

// bury ends what Redis has and the database knows to have ended.
func (r *replay) bury(ctx context.Context) error {
	return r.walk(ctx, "ended", func(ctx context.Context, q *replayed, rows []found) error {
		if isTopic(q.Queue) { // these were published, and are no jobs
			return nil
		}
		waiting, running, err := q.alive(ctx, rows)
		if err != nil {
			return err
		}
		if !r.ro.DryRun {
			if waiting, running, err = q.end(ctx, waiting, running); err != nil {
				return err
			}
		}
		q.Buried += int64(len(waiting))
		q.Cancelled += int64(len(running))
		return nil
	})
}

// alive gives those of the rows whose jobs wait, or are dead, and those whose jobs run. Jobs that others enqueued under the
// same IDs, after the rows had ended, are none of them.
func (q *replayed) alive(ctx context.Context, rows []found) (waiting, running []string, err error) {
	states, err := q.states(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	for i, s := range states {
		if !lives(s) && s != store.DeadState {
			continue
		}
		ours, err := q.ours(ctx, rows[i].id)
		switch {
		case err != nil:
			return nil, nil, err
		case ours && s == store.ActiveState:
			running = append(running, rows[i].id)
		case ours:
			waiting = append(waiting, rows[i].id)
		}
	}
	return waiting, running, nil
}

// lives says of a state whether a job in it is yet to end.
func lives(s store.State) bool {
	switch s {
	case store.Ready, store.Scheduled, store.RetryState, store.Parked, store.SpilledState, store.ActiveState:
		return true
	}
	return false
}

// ours says whether a job was sent by this outbox. One that is gone meanwhile was not.
func (q *replayed) ours(ctx context.Context, id string) (bool, error) {
	job, err := q.box.Queue().Get(ctx, id)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrNewer) {
		return false, nil
	}
	return err == nil && q.number != 0 && job.Record != nil && job.Record.Outbox == q.number, err
}

func (q *replayed) states(ctx context.Context, rows []found) ([]store.State, error) {
	ids := make([]string, len(rows))
	for i, w := range rows {
		ids[i] = w.id
	}
	return q.box.Queue().States(ctx, ids)
}

// end deletes jobs that wait, and cancels those that run, or have begun to meanwhile. It gives what it did.
func (q *replayed) end(ctx context.Context, waiting, running []string) (deleted, cancelled []string, err error) {
	said, err := q.box.Queue().Delete(ctx, store.DeleteOptions{}, waiting...)
	for i, change := range said {
		switch change {
		case store.Deleted:
			deleted = append(deleted, waiting[i])
		case store.Active:
			running = append(running, waiting[i])
		}
	}
	if err != nil {
		return deleted, nil, err
	}
	_, err = q.box.Queue().Cancel(ctx, "ended before redis lost its data", running...)
	return deleted, running, err
}
