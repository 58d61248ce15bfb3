package receipt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/codec"
	"github.com/waybillhq/waybill/internal/dialect"
)

// errRival says that another attempt has recorded an answer meanwhile.
var errRival = errors.New("another attempt has recorded the answer")

// record saves "done", and the user's own effect with it. The context may have ended: an answer that is known is kept.
func (u *operationRun[Req, Res]) record(ctx context.Context, res Res) error {
	value, err := encoded(res)
	if err != nil {
		return u.giveUp(ctx, fmt.Errorf("it was answered, and the answer can't be kept: %w", err))
	}
	err = u.r.short(ctx, u.k, true, func(ctx context.Context, s Session) error {
		if err := u.answer(ctx, s, StateDone, value, ""); err != nil {
			return err
		}
		return u.apply(ctx, s, res)
	})
	if errors.Is(err, errRival) {
		return u.theirs(ctx)
	}
	if err == nil {
		u.res = Result[Res]{Value: res, Outcome: Applied}
	}
	return err
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

// answer writes an answer for good, unless there is one.
func (u *operationRun[Req, Res]) answer(ctx context.Context, s Session, state State, value []byte, reason string) error {
	token := u.k.Token
	if u.o.Record != nil && state == StateDone && u.r.sql["op_proof"] != "" {
		token = unproved + token
	}
	rows, err := s.Change(ctx, u.r.sql["op_answer"], []any{string(state), value, reason, token, u.r.scope(u.k.Scope), u.k.ID})
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
	err := u.r.short(ctx, u.k, true, func(ctx context.Context, s Session) error {
		return u.answer(ctx, s, StateRefused, nil, reason)
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
	err := u.r.short(ctx, u.k, false, func(ctx context.Context, s Session) (err error) {
		u.row, err = u.r.readOperation(ctx, s, u.k)
		return err
	})
	if err != nil {
		return err
	}
	return u.saved()
}

// saved is the answer that is there.
func (u *operationRun[Req, Res]) saved() error {
	if u.row.state == StateRefused {
		return waybill.Dead(&RefusedError{ID: u.k.ID, Reason: u.row.reason})
	}
	u.res.Outcome, u.res.AppliedAt = Replayed, u.row.answered
	if err := codec.Decode(u.row.answer, &u.res.Value); err != nil {
		return fmt.Errorf("operation %q of %s: %w: %w", u.k.ID, u.row.answered.UTC().Format(time.RFC3339), ErrResult, err)
	}
	return nil
}
