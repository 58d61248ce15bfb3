// Package pgxoutbox is package outbox for transactions of pgx.
package pgxoutbox

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/outbox"
)

// Outbox is an outbox.Outbox on a pool of pgx: its relay and its other methods take their connections from the pool. Safe
// for concurrent use.
type Outbox struct {
	*outbox.Outbox

	db *sql.DB
}

// New makes an Outbox on pool. Nothing is sent. Errors: ErrInvalid.
func New(pool *pgxpool.Pool, o outbox.Options) (*Outbox, error) {
	if pool == nil {
		return nil, fmt.Errorf("%w: pool is nil", outbox.ErrInvalid)
	}
	db := stdlib.OpenDBFromPool(pool)
	inner, err := outbox.New(db, outbox.PostgreSQL, o)
	if err != nil {
		_ = db.Close() // nothing was opened
		return nil, err
	}
	return &Outbox{Outbox: inner, db: db}, nil
}

// Close ends what New started beside the pool. The pool stays open.
func (o *Outbox) Close() error { return o.db.Close() }

// Migrate is outbox.Migrate on the pool.
func (o *Outbox) Migrate(ctx context.Context, opts outbox.Options) ([]outbox.Migration, error) {
	return outbox.Migrate(ctx, o.db, outbox.PostgreSQL, opts)
}

// Enqueue is outbox.Outbox.Enqueue in a pgx.Tx.
func (o *Outbox) Enqueue(ctx context.Context, tx pgx.Tx, r ...waybill.Request) error {
	return outbox.Only(o.EnterIn(ctx, session{tx}, outbox.Entry{All: true}, r))
}

// EnqueueInOrder is outbox.Outbox.EnqueueInOrder in a pgx.Tx.
func (o *Outbox) EnqueueInOrder(ctx context.Context, tx pgx.Tx, key string, r ...waybill.Request) error {
	if key == "" {
		return fmt.Errorf("%w: key is empty", outbox.ErrInvalid)
	}
	return outbox.Only(o.EnterIn(ctx, session{tx}, outbox.Entry{All: true, Key: key}, r))
}

// EnqueueMany is outbox.Outbox.EnqueueMany in a pgx.Tx.
func (o *Outbox) EnqueueMany(ctx context.Context, tx pgx.Tx, r []waybill.Request) ([]waybill.Enqueued, error) {
	return o.EnterIn(ctx, session{tx}, outbox.Entry{}, r)
}

// session is an outbox.Session of pgx.
type session struct{ tx pgx.Tx }

// rollbackTime bounds a rollback when the context has ended already.
const rollbackTime = 2 * time.Second

func (s session) Query(ctx context.Context, query string, args []any, scan func(func(...any) error) error) error {
	rows, err := s.tx.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s session) Exec(ctx context.Context, query string, args []any) (int64, error) {
	tag, err := s.tx.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

func (s session) RollBack(ctx context.Context, err error) error {
	short, stop := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer stop()
	if back := s.tx.Rollback(short); back != nil && !errors.Is(back, pgx.ErrTxClosed) && ctx.Err() == nil {
		return fmt.Errorf("%w, after: %w", driver.ErrBadConn, err)
	}
	return err
}
