package demo

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

// subscribe adds the three subscriptions to a worker. In a company each would be a service of its own.
func (w *worker) subscribe(run *waybill.Worker) {
	ordered.Subscribe(run, subMail, subscribed(), w.confirm)
	ordered.Subscribe(run, subBilling, subscribed(), w.bill)
	ordered.Subscribe(run, subAnalytics, subscribed(), w.analyse)
}

// confirm mails that an order was placed. The Message-ID is the event's in this subscription, so that the other side can
// drop a mail that comes twice.
func (w *worker) confirm(ctx context.Context, job *waybill.Job[order]) error {
	to := fmt.Sprintf("customer-%d@demo.test", job.Args.Number)
	text := fmt.Sprintf("Your order %d was placed.", job.Args.Number)
	return w.mail(ctx, w.Confirm, job.IdempotencyKey(), letter{to, "Order placed", text})
}

// bill books an invoice once, with a receipt in the same transaction, and then tells the accounts. An attempt that comes
// again finds the receipt, and only tells.
func (w *worker) bill(ctx context.Context, job *waybill.Job[order]) error {
	if job.Args.Cents == 0 {
		return waybill.Dead(errors.New("there is nothing to bill")) // a dead letter of this subscription, and of no other
	}
	_, err := w.receipts.Do(ctx, receipt.For(job), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO invoice (event, cents) VALUES (?, ?)", job.Event, job.Args.Cents)
		return err
	})
	if err != nil {
		return err
	}
	body, err := json.Marshal(job.Args)
	if err != nil {
		return err
	}
	return w.post(ctx, w.Accounts, body, signed(job.IdempotencyKey(), body))
}

// analyse counts the sale. A row has the event's ID as its key, so that entering it again changes nothing.
func (w *worker) analyse(ctx context.Context, job *waybill.Job[order]) error {
	res, err := w.db.ExecContext(ctx, "INSERT INTO sale (event, cents) VALUES (?, ?) ON CONFLICT (event) DO NOTHING",
		job.Event, job.Args.Cents)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err == nil && n == 0 {
		job.Count(waybill.EffectSuppressed)
	} else {
		job.Count(waybill.EffectApplied)
	}
	return nil
}
