package receipt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/codec"
	"github.com/waybillhq/waybill/internal/dialect"
)

// errRival says that another attempt has been faster. It is an ErrRetry: the next delivery sees what the other has done.
var errRival = fmt.Errorf("another attempt is at the same operation: %w", ErrRetry)

// record saves "done", and the user's own effect with it. The context may have ended: an answer that is known is kept.
func (u *operationRun[Req, Res]) record(ctx context.Context, res Res) error {
	value, err := encoded(res)
	if err != nil {
		return u.giveUp(ctx, fmt.Errorf("it was done, and its answer can't be kept: %w", err))
	}
	err = u.keep(ctx, func(ctx context.Context, s Session) error {
		if err := u.answer(ctx, s, reply{"op_answer", StateDone, value, ""}); err != nil {
			return err
		}
		return u.apply(ctx, s, res)
	})
	switch {
	case errors.Is(err, errRival):
		return u.theirs(ctx)
	case err != nil:
		if lost := u.keepAnswer(ctx, value, err); lost != nil {
			return fmt.Errorf("operation %q was done, and its answer is not saved (%v): %w", u.k.ID, err, lost) //nolint:errorlint // one decides
		}
		return err
	}
	u.res = Result[Res]{Value: res, Outcome: Applied}
	return nil
}

// keepAnswer keeps an answer whose effect failed: whoever comes next is not to call again.
func (u *operationRun[Req, Res]) keepAnswer(ctx context.Context, value []byte, why error) error {
	err := u.keep(ctx, func(ctx context.Context, s Session) error {
		return u.answer(ctx, s, reply{"op_answer", StateAnswered, value, why.Error()})
	})
	if errors.Is(err, errRival) {
		return nil // there is one
	}
	return err
}

// finish makes the effect of an answer that stands without it.
func (u *operationRun[Req, Res]) finish(ctx context.Context) error {
	var res Res
	if err := codec.Decode(u.row.answer, &res); err != nil {
		return u.undecodable(err)
	}
	err := u.keep(ctx, func(ctx context.Context, s Session) error {
		if err := u.answer(ctx, s, reply{"op_finish", StateDone, u.row.answer, ""}); err != nil {
			return err
		}
		return u.apply(ctx, s, res)
	})
	switch {
	case errors.Is(err, errRival):
		return u.theirs(ctx)
	case err != nil:
		return err
	}
	u.res = Result[Res]{Value: res, Outcome: Applied}
	return nil
}

// apply runs the user's effect, and proves on MariaDB that the transaction is still the same afterwards.
func (u *operationRun[Req, Res]) apply(ctx context.Context, s Session, res Res) error {
	if u.o.Record == nil {
		return nil
	}
	if err := u.o.Record(ctx, s.(sqlSession).q.(*sql.Tx), res); err != nil { //nolint:forcetypeassert // short makes it
		return &dialect.ForeignError{Err: err}
	}
	proof := u.r.sql["op_proof"]
	if proof == "" {
		return nil
	}
	rows, err := s.Change(ctx, proof, []any{u.k.Token, u.r.scope(u.k.Scope), u.k.ID, unproved + u.k.Token})
	if err == nil && rows != 1 {
		err = dialect.ErrAgain
	}
	return err
}

// unproved stands before the token until the transaction's last statement.
const unproved = "="

// reply is an answer on its way into the database.
type reply struct {
	statement string
	state     State
	value     []byte
	reason    string
}

// answer writes an answer, unless there is one.
func (u *operationRun[Req, Res]) answer(ctx context.Context, s Session, to reply) error {
	token := u.k.Token
	if u.o.Record != nil && to.state == StateDone && u.r.sql["op_proof"] != "" {
		token = unproved + token
	}
	rows, err := s.Change(ctx, u.r.sql[to.statement], []any{
		string(to.state), to.value, clipped(to.reason), token, u.r.scope(u.k.Scope), u.k.ID,
	})
	if err != nil {
		return fmt.Errorf("operation %q: record the answer: %w", u.k.ID, err)
	}
	if rows != 1 {
		return errRival
	}
	return nil
}

// refused saves that the other side has refused for good.
func (u *operationRun[Req, Res]) refused(ctx context.Context, reason string) error {
	err := u.keep(ctx, func(ctx context.Context, s Session) error {
		return u.answer(ctx, s, reply{"op_answer", StateRefused, nil, reason})
	})
	if errors.Is(err, errRival) {
		return u.theirs(ctx)
	}
	if err != nil {
		return err
	}
	return waybill.Dead(&RefusedError{ID: u.k.ID, Reason: reason})
}

// theirs is the answer that another attempt has recorded; or ours, where the reply to its commit was lost.
func (u *operationRun[Req, Res]) theirs(ctx context.Context) error {
	err := u.keep(ctx, func(ctx context.Context, s Session) (err error) {
		u.row, err = u.r.readOperation(ctx, s, u.k)
		return err
	})
	switch {
	case err != nil:
		return err
	case u.row.state == StateAnswered:
		return u.finish(ctx)
	case !u.row.state.final():
		return errRival
	case u.row.state == StateRefused && u.row.token == byHand:
		u.r.o.Log.ErrorContext(ctx, "receipt: an operation was answered after a person had refused it: look into it",
			slog.String(keyScope, u.k.Scope), slog.String(keyReceipt, u.k.ID))
	}
	return u.saved()
}

// saved is the answer that is there.
func (u *operationRun[Req, Res]) saved() error {
	if u.row.state == StateRefused {
		return waybill.Dead(&RefusedError{ID: u.k.ID, Reason: u.row.reason})
	}
	u.res.Outcome, u.res.AppliedAt = Replayed, u.row.answered
	if u.lost && u.row.token == u.k.Token {
		u.res.Outcome, u.res.AppliedAt = Applied, time.Time{}
	}
	if err := codec.Decode(u.row.answer, &u.res.Value); err != nil {
		return u.undecodable(err)
	}
	return nil
}

func (u *operationRun[Req, Res]) undecodable(err error) error {
	return fmt.Errorf("operation %q of %s: %w: %w", u.k.ID, u.row.answered.UTC().Format(time.RFC3339), ErrResult, err)
}
