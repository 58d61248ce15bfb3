// Package pgxoutbox is package outbox for transactions of pgx. Options, answers and errors are those of package outbox, and a
// transaction that is over is pgx.ErrTxClosed. In a nested transaction, which is a savepoint, an error undoes what came since
// its begin: the caller rolls back the rest, or the order stands without its job.
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

// New makes an Outbox on pool, which stays the caller's to close. Nothing is sent. Errors: outbox.ErrInvalid.
func New(pool *pgxpool.Pool, o outbox.Options) (*Outbox, error) {
	if pool == nil {
		return nil, fmt.Errorf("%w: pool: is nil", outbox.ErrInvalid)
	}
	db := stdlib.OpenDBFromPool(pool)
	inner, err := outbox.New(db, outbox.PostgreSQL, o)
	if err != nil {
		_ = db.Close() // nothing was opened
		return nil, err
	}
	return &Outbox{Outbox: inner, db: db}, nil
}

// Close ends what New started beside the pool. The pool stays open. Relays are to have ended before.
func (o *Outbox) Close() error { return o.db.Close() }

// Migrate is outbox.Migrate on the pool. Of the options only Tables counts, and is to be that of New.
func (o *Outbox) Migrate(ctx context.Context, opts outbox.Options) ([]outbox.Migration, error) {
	return outbox.Migrate(ctx, o.db, outbox.PostgreSQL, opts)
}

// Enqueue is outbox.Outbox.Enqueue in a pgx.Tx of the pool's database.
func (o *Outbox) Enqueue(ctx context.Context, tx pgx.Tx, r ...waybill.Request) error {
	_, err := o.enterIn(ctx, tx, outbox.Entry{All: true}, r)
	return err
}

// EnqueueInOrder is outbox.Outbox.EnqueueInOrder in a pgx.Tx of the pool's database.
func (o *Outbox) EnqueueInOrder(ctx context.Context, tx pgx.Tx, key string, r ...waybill.Request) error {
	if key == "" {
		return fmt.Errorf("%w: key: is empty", outbox.ErrInvalid)
	}
	_, err := o.enterIn(ctx, tx, outbox.Entry{All: true, Key: key}, r)
	return err
}

// EnqueueMany is outbox.Outbox.EnqueueMany in a pgx.Tx of the pool's database.
func (o *Outbox) EnqueueMany(ctx context.Context, tx pgx.Tx, r []waybill.Request) ([]waybill.Enqueued, error) {
	return o.enterIn(ctx, tx, outbox.Entry{}, r)
}

// Publish is outbox.Outbox.Publish in a pgx.Tx of the pool's database.
func (o *Outbox) Publish(ctx context.Context, tx pgx.Tx, events ...waybill.Request) error {
	_, err := o.enterIn(ctx, tx, outbox.Entry{All: true, Events: true}, events)
	return err
}

// PublishInOrder is outbox.Outbox.PublishInOrder in a pgx.Tx of the pool's database.
func (o *Outbox) PublishInOrder(ctx context.Context, tx pgx.Tx, key string, events ...waybill.Request) error {
	if key == "" {
		return fmt.Errorf("%w: key: is empty", outbox.ErrInvalid)
	}
	_, err := o.enterIn(ctx, tx, outbox.Entry{All: true, Key: key, Events: true}, events)
	return err
}

func (o *Outbox) enterIn(ctx context.Context, tx pgx.Tx, e outbox.Entry, r []waybill.Request) ([]waybill.Enqueued, error) {
	if tx == nil {
		return nil, fmt.Errorf("%w: tx: is nil", outbox.ErrInvalid)
	}
	return o.EnterIn(ctx, session{tx}, e, r)
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
