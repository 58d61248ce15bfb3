// Package pgxreceipt is package receipt on pgx: effects in a transaction of a pgxpool.Pool or in a pgx.Tx that the caller
// holds. Keys, options, outcomes and errors are those of package receipt.
package pgxreceipt

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/waybillhq/waybill/receipt"
)

// Receipts are kept in one PostgreSQL database. Safe for concurrent use. What is not here, as Purge and Find, is at the
// embedded Receipts, which take their connections from the same pool; an Operation takes them.
type Receipts struct {
	*receipt.Receipts
	pool *pgxpool.Pool
	db   *sql.DB // of the embedded Receipts
	iso  pgx.TxIsoLevel
}

// New makes Receipts on a pool, which stays the caller's to close. Nothing is sent. Options.Isolation is the default,
// READ COMMITTED, REPEATABLE READ or SERIALIZABLE. Errors: receipt.ErrInvalid.
func New(pool *pgxpool.Pool, o receipt.Options) (*Receipts, error) {
	if pool == nil {
		return nil, fmt.Errorf("%w: pool: is nil", receipt.ErrInvalid)
	}
	iso, err := isolation(o)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDBFromPool(pool)
	r, err := receipt.New(db, receipt.PostgreSQL, o)
	if err != nil {
		_ = db.Close() // nothing was opened
		return nil, err
	}
	return &Receipts{Receipts: r, pool: pool, db: db, iso: iso}, nil
}

// Close ends what New started beside the pool. The pool stays open.
func (r *Receipts) Close() error { return r.db.Close() }

// Do is receipt.Receipts.Do with a pgx.Tx.
func (r *Receipts) Do(ctx context.Context, k receipt.Key, apply func(context.Context, pgx.Tx) error) (receipt.Outcome, error) {
	res, err := DoResult(ctx, r, k, func(ctx context.Context, tx pgx.Tx) (struct{}, error) { return struct{}{}, apply(ctx, tx) })
	return res.Outcome, err
}

// DoResult is receipt.DoResult with a pgx.Tx.
func DoResult[Out any](
	ctx context.Context, r *Receipts, k receipt.Key, apply func(context.Context, pgx.Tx) (Out, error),
) (receipt.Result[Out], error) {
	return receipt.DoIn(ctx, r.Receipts, k, receipt.Opening[pgx.Tx]{
		Run:     r.run,
		Session: func(tx pgx.Tx) receipt.Session { return session{tx} },
	}, apply)
}

// InTx is receipt.Receipts.InTx in a pgx.Tx that the caller holds.
func (r *Receipts) InTx(
	ctx context.Context, tx pgx.Tx, k receipt.Key, apply func(context.Context, pgx.Tx) error,
) (receipt.Outcome, error) {
	res, err := InTxResult(ctx, r, tx, k, func(ctx context.Context, tx pgx.Tx) (struct{}, error) { return struct{}{}, apply(ctx, tx) })
	return res.Outcome, err
}

// InTxResult is receipt.InTxResult in a pgx.Tx that the caller holds.
func InTxResult[Out any](
	ctx context.Context, r *Receipts, tx pgx.Tx, k receipt.Key, apply func(context.Context, pgx.Tx) (Out, error),
) (receipt.Result[Out], error) {
	return receipt.InSession(ctx, r.Receipts, session{tx}, k, func(ctx context.Context) (Out, error) { return apply(ctx, tx) })
}

func (r *Receipts) run(ctx context.Context, f func(context.Context, pgx.Tx) error) error {
	tx, err := r.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: r.iso})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = session{tx}.RollBack(ctx, nil) }() // after a commit it does nothing; also where f panics
	if err := f(ctx, tx); err != nil {
		return session{tx}.RollBack(ctx, err)
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// session is a receipt.Held of pgx.
type session struct{ tx pgx.Tx }

// rollbackTime bounds a rollback when the context has ended already: a server that stands still would keep the worker.
const rollbackTime = 2 * time.Second

func (s session) RollBack(ctx context.Context, err error) error {
	short, stop := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer stop()
	back := s.tx.Rollback(short)
	switch {
	case back == nil, errors.Is(back, pgx.ErrTxClosed), ctx.Err() != nil:
	case strings.HasSuffix(back.Error(), "conn busy"): // rows were left open: the user's mistake
	default: // as where the server ended an idle transaction
		return fmt.Errorf("%w, after: %w", driver.ErrBadConn, err)
	}
	return err
}

func (s session) QueryOne(ctx context.Context, query string, args, dest []any) (bool, error) {
	err := s.tx.QueryRow(ctx, query, args...).Scan(dest...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (s session) Change(ctx context.Context, query string, args []any) (int64, error) {
	tag, err := s.tx.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}
