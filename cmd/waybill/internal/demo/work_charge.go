package demo

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

// charged is what the gateway answers.
type charged struct{ Charge string }

// charge takes a payment. The gateway can't join a transaction, so the call is saved before it is made, repeated with the
// same key where no answer was heard, and booked in the transaction that saves the answer.
func (w *worker) charge(ctx context.Context, job *waybill.Job[payment]) error {
	book := func(ctx context.Context, tx *sql.Tx, _ charged) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO booking (payment, cents) VALUES (?, ?)", job.ID, job.Args.Cents)
		return err
	}
	call := receipt.Operation[payment, charged]{
		Request: job.Args, Send: w.askGateway, Timeout: 10 * time.Second, KeyTTL: 24 * time.Hour, Record: book,
	}
	_, err := call.Do(ctx, w.receipts, receipt.For(job))
	return err
}

// askGateway is one call. Whatever is no answer of the gateway's may have happened.
func (w *worker) askGateway(ctx context.Context, c receipt.Call[payment]) (got charged, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.Gateway, bytes.NewReader(c.Raw))
	if err != nil {
		return got, waybill.Dead(err) // the URL is none
	}
	r.Header.Set("Idempotency-Key", c.IdempotencyKey)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", w.Name)
	res, err := w.http.Do(r)
	if err != nil {
		return got, err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
		return got, json.NewDecoder(res.Body).Decode(&got)
	case http.StatusPaymentRequired:
		return got, receipt.Refused("the card was declined")
	case http.StatusServiceUnavailable:
		return got, receipt.Busy(time.Second, res.Status)
	}
	return got, fmt.Errorf("the gateway answered %s", res.Status)
}
