package main

import (
	"context"
	"database/sql"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

// Names of the ways to handle a job.
const (
	wayOnce         = "once"
	wayNoReceipt    = "no receipt"
	wayReceiptFirst = "receipt first"
	wayReceiptLast  = "receipt last"
)

// ways are the handlers on Waybill's queue: the promise, and what falls short of it.
func ways() map[string]handler {
	return map[string]handler{
		wayOnce:         (*worker).once,
		wayNoReceipt:    (*worker).noReceipt,
		wayReceiptFirst: (*worker).receiptFirst,
		wayReceiptLast:  (*worker).receiptLast,
	}
}

// noReceipt adds, and hopes that it is not asked twice.
func (w *worker) noReceipt(ctx context.Context, job *waybill.Job[add]) error {
	err := w.account.addAlone(ctx, job.Args.Amount)
	w.dieAt(committed)
	return err
}

// note is a receipt in a transaction of its own. It says whether it is new.
func (w *worker) note(ctx context.Context, job *waybill.Job[add]) (bool, error) {
	outcome, err := w.receipts.Do(ctx, receipt.For(job), func(context.Context, *sql.Tx) error { return nil })
	return outcome == receipt.Applied, err
}

// receiptFirst notes that the job is done, and then does it.
func (w *worker) receiptFirst(ctx context.Context, job *waybill.Job[add]) error {
	isNew, err := w.note(ctx, job)
	if err != nil || !isNew {
		return err
	}
	w.dieAt(between)
	return w.account.addAlone(ctx, job.Args.Amount)
}

// receiptLast looks for a note, does the job and then notes that it is done.
func (w *worker) receiptLast(ctx context.Context, job *waybill.Job[add]) error {
	key := receipt.For(job)
	found, err := w.receipts.Find(ctx, key.Scope, key.ID)
	if err != nil || len(found) > 0 {
		return err
	}
	if err := w.account.addAlone(ctx, job.Args.Amount); err != nil {
		return err
	}
	w.dieAt(between)
	_, err = w.note(ctx, job)
	return err
}
