package receipt

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/codec"
	"github.com/waybillhq/waybill/internal/dialect"
)

// MaxResult is the most a saved result has, in bytes of JSON.
const MaxResult = 64 << 10

// Result is what an effect gave.
type Result[Out any] struct {
	Value     Out
	Outcome   Outcome
	AppliedAt time.Time // by the database's clock; zero where it was applied just now
}

// Do applies an effect once: it opens a transaction, enters the receipt, runs apply and commits. Where the receipt is there
// already apply does not run. Where the database gives the transaction up (serialization failure, deadlock, a lock that is
// not to be had, a lost connection) it is run again, apply too, for up to Options.RetryFor.
//
// The error of apply rolls back and is returned as it is. It must be returned: a statement that failed and was ignored can
// spoil the transaction. apply has the database's transaction and may do nothing else that lasts. For another effect inside
// it there is InTx: a Do in it could wait for itself, for a connection or a lock, and is ErrInvalid.
// Errors beside it: ErrInvalid, ErrMismatch, ErrHorizon, ErrRetry, ErrBlocked, ErrNoTable. Returned by a handler, they end
// the job as each says. Safe for concurrent use.
func (r *Receipts) Do(ctx context.Context, k Key, apply func(context.Context, *sql.Tx) error) (Outcome, error) {
	res, err := DoResult(ctx, r, k, func(ctx context.Context, tx *sql.Tx) (struct{}, error) { return struct{}{}, apply(ctx, tx) })
	return res.Outcome, err
}

// DoResult is Do for an effect with a result, which is saved with the receipt as JSON of at most 64 KiB and comes back in a
// later delivery. More errors: ErrTooLarge (nothing was applied), ErrResult (it was applied).
func DoResult[Out any](
	ctx context.Context, r *Receipts, k Key, apply func(context.Context, *sql.Tx) (Out, error),
) (Result[Out], error) {
	var all map[string]*sql.Stmt
	return DoIn(ctx, r, k, Opening[*sql.Tx]{
		Run: func(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
			all = r.statements(ctx) // before the transaction has a connection
			defer r.turn(ctx)()
			return r.d.Run(ctx, r.db, r.tx(), f)
		},
		Session: func(tx *sql.Tx) Session { return sqlSession{q: tx, tx: tx, prepared: all} },
	}, apply)
}

// InTx is Do in the transaction that the caller holds, which is to begin with it: what locks anything before it can wait
// for another attempt, and stop it. The caller commits. After any error, and where apply panics, the whole transaction is
// rolled back, whatever the caller does: else a receipt could be committed without its effect. Only ErrInvalid leaves it as
// it was. ErrRetry says that it may be run again, from its begin; returned by a handler, it snoozes the job. An outcome is counted when InTx returns,
// before the caller commits. No time limits are set: the caller's own govern, and on PostgreSQL and MariaDB a holder that
// stands still is only ended by an idle timeout of its transaction.
func (r *Receipts) InTx(ctx context.Context, tx *sql.Tx, k Key, apply func(context.Context, *sql.Tx) error) (Outcome, error) {
	res, err := InTxResult(ctx, r, tx, k, func(ctx context.Context, tx *sql.Tx) (struct{}, error) { return struct{}{}, apply(ctx, tx) })
	return res.Outcome, err
}

// InTxResult is InTx with a result, as DoResult.
func InTxResult[Out any](
	ctx context.Context, r *Receipts, tx *sql.Tx, k Key, apply func(context.Context, *sql.Tx) (Out, error),
) (Result[Out], error) {
	return InSession(ctx, r, heldTx{sqlSession{q: tx}, tx}, k, func(ctx context.Context) (Out, error) { return apply(ctx, tx) })
}

// DoIn is DoResult for another driver.
func DoIn[Tx, Out any](
	ctx context.Context, r *Receipts, k Key, o Opening[Tx], apply func(context.Context, Tx) (Out, error),
) (Result[Out], error) {
	if err := r.check(ctx, k, false); err != nil {
		return Result[Out]{}, err
	}
	began := time.Now()
	var res Result[Out]
	how := try{}
	told := func(f dialect.Fault, err error) {
		how.lost = how.lost || f == dialect.Lost
		r.retried(ctx, k, f, err)
	}
	err := r.d.Retry(ctx, r.o.RetryFor, told, func(ctx context.Context) error {
		return r.marked(ctx, k, o.Run(ctx, func(ctx context.Context, tx Tx) (err error) {
			res, err = once(ctx, r, o.Session(tx), k, how, func(ctx context.Context) (Out, error) { return apply(ctx, tx) })
			return err
		}))
	})
	return ended(r, k, res, r.explained(err), began)
}

// InSession is InTxResult for another driver.
func InSession[Out any](
	ctx context.Context, r *Receipts, s Held, k Key, apply func(context.Context) (Out, error),
) (Result[Out], error) {
	if err := r.check(ctx, k, true); err != nil {
		return Result[Out]{}, err
	}
	began, returned := time.Now(), false
	defer func() {
		if !returned { // apply panicked, or ended its goroutine
			_ = s.RollBack(ctx, nil)
		}
	}()
	res, err := once(ctx, r, s, k, try{held: true}, apply)
	if returned = true; err != nil {
		err = s.RollBack(ctx, err)
	}
	if f := r.d.Fault(err); f != dialect.Other && f != dialect.Missing {
		r.retried(ctx, k, f, err)
	}
	return ended(r, k, res, r.explained(err), began)
}

// try is how a transaction is run: held by the caller; or by us, perhaps after a connection was lost.
type try struct{ held, lost bool }

// once is one try, from the receipt to the last statement before the commit.
func once[Out any](
	ctx context.Context, r *Receipts, s Session, k Key, how try, apply func(context.Context) (Out, error),
) (Result[Out], error) {
	var res Result[Out]
	e, err := r.enter(ctx, s, k, how.held)
	if err != nil {
		return res, err
	}
	if !e.new {
		if res.Outcome, err = r.known(k, e, how.lost); err != nil {
			return res, err
		}
		res.AppliedAt = e.at
		if err := decoded(e.result, &res.Value); err != nil {
			return res, fmt.Errorf("receipt %q of %s: %w: %w", k.ID, e.at.UTC().Format(time.RFC3339), ErrResult, err)
		}
		return res, nil
	}
	if res.Value, err = apply(r.inside(ctx, k)); err != nil {
		return res, &dialect.ForeignError{Err: err}
	}
	result, err := encoded(res.Value)
	if err != nil {
		return res, err
	}
	res.Outcome = Applied
	return res, r.finish(ctx, s, k, result)
}

// decoded fills *v from a saved result. A receipt that Do has made has none, and a zero value would pass for one.
func decoded(result []byte, v any) error {
	switch v.(type) {
	case *struct{}, *[]byte, *json.RawMessage:
	default:
		if result == nil {
			return errors.New("none was saved")
		}
	}
	return codec.Decode(result, v)
}

// encoded is a result as it is saved; of a struct{} nothing is.
func encoded(v any) ([]byte, error) {
	if _, none := v.(struct{}); none {
		return nil, nil
	}
	b, err := codec.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	if len(b) > MaxResult {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(b), MaxResult)
	}
	return b, nil
}
