package receipt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/dialect"
)

// unanswered is an error of Send or Lookup that is none of the answers.
func (u *operationRun[Req, Res]) unanswered(ctx context.Context, err error, looked bool) error {
	if !looked && u.o.KeyTTL == 0 && u.o.Lookup == nil {
		return u.giveUp(ctx, fmt.Errorf("%w: %w", ErrUnanswered, err))
	}
	told := errors.Join(fmt.Errorf("operation %q: unanswered: %w", u.k.ID, err), u.note(ctx, StateIntended, err.Error()))
	return &dialect.ForeignError{Err: told} // a connection that broke there was none of the database's
}

// note saves what is known, for people and for the next attempt. A job that loses its lease, or a worker that stops, saves it
// all the same.
func (u *operationRun[Req, Res]) note(ctx context.Context, state State, reason string) error {
	return u.keep(ctx, func(ctx context.Context, s Session) error {
		return u.write(ctx, s, state, reason)
	})
}

// write is one note. What is pending can only become unknown.
func (u *operationRun[Req, Res]) write(ctx context.Context, s Session, state State, reason string) error {
	pending := StatePending
	if state == StateUnknown {
		pending = state
	}
	_, err := s.Change(ctx, u.r.sql["op_note"], []any{
		string(pending), string(state), clipped(reason), u.r.scope(u.k.Scope), u.k.ID, u.calls(), string(state),
	})
	return err
}

// calls is the number of the call that this attempt knows of.
func (u *operationRun[Req, Res]) calls() int { return max(u.row.calls, u.opened) }

// unanswerable says why only a person can go on.
func (u *operationRun[Req, Res]) unanswerable() error {
	why := ErrUnanswered
	if u.o.KeyTTL > 0 && u.row.state != StatePending && !u.keyed() {
		why = ErrKeyExpired
	}
	if u.row.reason == "" {
		return why
	}
	return fmt.Errorf("%w (%s)", why, u.row.reason)
}

// giveUp leaves the operation to a person, unless there is an answer by now, another call, or news of another's.
func (u *operationRun[Req, Res]) giveUp(ctx context.Context, why error) error {
	calls, seen := u.calls(), u.row.state
	err := u.keep(ctx, func(ctx context.Context, s Session) (err error) {
		if u.row, err = u.r.readOperation(ctx, s, u.k); err != nil || u.row.state.answered() || u.row.state == StateUnknown {
			return err
		}
		if u.row.calls != calls || u.opened == 0 && u.row.state != seen {
			return errRival
		}
		return u.write(ctx, s, StateUnknown, why.Error())
	})
	switch {
	case err != nil:
		return err
	case u.row.state.answered():
		return u.theirs(ctx)
	}
	return waybill.Dead(fmt.Errorf("operation %q, %d calls, intended at %s: %w",
		u.k.ID, u.row.calls, u.row.intended.UTC().Format(time.RFC3339), why))
}
