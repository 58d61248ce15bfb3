package main

import (
	"context"
	"database/sql"
	"fmt"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
	"github.com/waybillhq/waybill/test/effects"
	"github.com/waybillhq/waybill/test/internal/watched"
)

type handler func(context.Context, *waybill.Job[effects.Args]) error

// open gives the handler that the orders ask for.
func open(ctx context.Context, o effects.Orders, t *trap) (handler, error) {
	if o.Driver == effects.Pgx {
		return openPgx(ctx, o, t)
	}
	db, err := watched.Open(o.Driver, o.DSN, t.watch)
	if err != nil {
		return nil, err
	}
	d := receipt.Dialect(o.Dialect)
	r, err := receipt.New(db, d, receipt.Options{})
	if err != nil {
		return nil, err
	}
	w := writer{db, d, r}
	builds := map[effects.Build]handler{
		effects.Whole: w.whole, effects.NoReceipt: w.bare, effects.ReceiptFirst: w.receiptFirst, effects.ReceiptLast: w.receiptLast,
	}
	h, ok := builds[o.Build]
	if !ok {
		return nil, fmt.Errorf("build %q is unknown", o.Build)
	}
	return h, nil
}

// writer writes effects through database/sql.
type writer struct {
	db       *sql.DB
	d        receipt.Dialect
	receipts *receipt.Receipts
}

// whole is how it is to be done.
func (w writer) whole(ctx context.Context, job *waybill.Job[effects.Args]) error {
	_, err := w.receipts.Do(ctx, receipt.For(job), func(ctx context.Context, tx *sql.Tx) error {
		return w.write(ctx, tx, job.Attempt)
	})
	return err
}

func (w writer) write(ctx context.Context, tx *sql.Tx, a *waybill.Attempt) error {
	marks := "?, ?, ?"
	if w.d == receipt.PostgreSQL {
		marks = "$1, $2, $3"
	}
	_, err := tx.ExecContext(ctx, watched.InsertEffect+"(job, attempt, token) VALUES ("+marks+")", a.ID, a.Number, a.Token)
	return err
}

// bare writes the effect in a transaction of its own.
func (w writer) bare(ctx context.Context, job *waybill.Job[effects.Args]) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := w.write(ctx, tx, job.Attempt); err != nil {
		return err
	}
	return tx.Commit()
}

// note writes the receipt in a transaction of its own.
func (w writer) note(ctx context.Context, job *waybill.Job[effects.Args]) (receipt.Outcome, error) {
	return w.receipts.Do(ctx, receipt.For(job), func(context.Context, *sql.Tx) error { return nil })
}

func (w writer) receiptFirst(ctx context.Context, job *waybill.Job[effects.Args]) error {
	outcome, err := w.note(ctx, job)
	if err != nil || outcome == receipt.Replayed {
		return err
	}
	return w.bare(ctx, job)
}

func (w writer) receiptLast(ctx context.Context, job *waybill.Job[effects.Args]) error {
	found, err := w.receipts.Find(ctx, job.Queue, job.ID)
	if err != nil || len(found) > 0 {
		return err
	}
	if err := w.bare(ctx, job); err != nil {
		return err
	}
	_, err = w.note(ctx, job)
	return err
}
