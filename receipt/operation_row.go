package receipt

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/dialect"
)

// operationRow is an operation as it is saved.
type operationRow struct {
	id, token, job, idempotencyKey, reason string
	fp, request, answer                    []byte
	state                                  State
	calls                                  int
	born, intended, called, answered, now  time.Time
	timeout                                time.Duration
}

// scanOperation reads the columns of op_read, op_find and op_unfinished.
func scanOperation(scan func(dest ...any) error) (operationRow, error) {
	var o operationRow
	var state string
	var born, intended, called, timeout, now int64
	var answered sql.NullInt64
	err := scan(&o.id, &o.fp, &o.token, &o.job, &born, &state, &o.idempotencyKey, &o.request, &o.answer, &o.reason, &o.calls,
		&intended, &called, &timeout, &answered, &now)
	o.state, o.timeout = State(state), time.Duration(timeout)*time.Millisecond
	o.born, o.intended, o.called, o.now = time.UnixMilli(born), time.UnixMilli(intended), time.UnixMilli(called), time.UnixMilli(now)
	if answered.Valid {
		o.answered = time.UnixMilli(answered.Int64)
	}
	return o, err
}

// intend saves an intent, or finds the one that is there. One that no call was noted for is new.
func (r *Receipts) intend(ctx context.Context, s Session, k Key, request []byte, timeout time.Duration) (operationRow, error) {
	_, err := s.Change(ctx, r.sql["op_insert"], []any{
		r.scope(k.Scope), k.ID, k.Fingerprint, k.Token, k.Job, k.Born.UnixMilli(), k.idempotencyKey(), request, timeout.Milliseconds(),
	})
	if err != nil {
		return operationRow{}, fmt.Errorf("save operation %q: %w", k.ID, r.missing(err))
	}
	row, err := r.readOperation(ctx, s, k)
	if err == nil && row.calls == 0 && k.old(time.Now()) {
		err = r.horizon(ctx, s, k, false)
	}
	return row, err
}

// readOperation reads an operation, and keeps it from others until the transaction ends.
func (r *Receipts) readOperation(ctx context.Context, s Session, k Key) (operationRow, error) {
	var row operationRow
	var found bool
	var err error
	row, err = scanOperation(func(dest ...any) (err error) {
		found, err = s.QueryOne(ctx, r.sql["op_read"], []any{r.scope(k.Scope), k.ID}, dest)
		return err
	})
	switch {
	case err != nil:
		return row, fmt.Errorf("read operation %q: %w", k.ID, err)
	case !found:
		return row, dialect.ErrAgain
	case !bytes.Equal(row.fp, k.Fingerprint):
		return row, &MismatchError{Scope: k.Scope, ID: k.ID, Stored: row.fp, Given: k.Fingerprint, Job: row.job, AppliedAt: row.intended}
	}
	return row, nil
}

// tx is a short transaction of the operation's own.
func (u *operationRun[Req, Res]) tx(ctx context.Context, f func(context.Context, Session) error) error {
	return u.r.short(ctx, u.k, func(fault dialect.Fault) { u.lost = u.lost || fault == dialect.Lost }, f)
}

// keep is tx for what is known, and is to be kept also where the lease is lost or the worker stops: it outlives ctx for a while.
func (u *operationRun[Req, Res]) keep(ctx context.Context, f func(context.Context, Session) error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
	defer stop()
	return u.tx(ctx, f)
}

// keepTime is less than a supervisor waits after the worker's grace.
const keepTime = 15 * time.Second

// short runs a transaction, and again where the database asks for it; told hears of that.
func (r *Receipts) short(ctx context.Context, k Key, told func(dialect.Fault), f func(context.Context, Session) error) error {
	t := r.tx()
	again := func(fault dialect.Fault, err error) {
		told(fault)
		r.retried(ctx, k, fault, err)
	}
	return r.d.Retry(ctx, r.o.RetryFor, again, func(ctx context.Context) error {
		return r.marked(ctx, k, r.d.Run(ctx, r.db, t, func(ctx context.Context, tx *sql.Tx) error {
			s := sqlSession{q: tx}
			if set := r.sql["limits"]; set != "" {
				if _, err := s.Change(ctx, set, []any{dialect.Milliseconds(t.LockTimeout), dialect.Milliseconds(t.IdleTimeout)}); err != nil {
					return fmt.Errorf("set the limits: %w", err)
				}
			}
			return f(ctx, s)
		}))
	})
}
