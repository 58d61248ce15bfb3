package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/database"
	"github.com/waybillhq/waybill/receipt"
)

// envWorker has what a worker is told: then the program is one.
const envWorker = "STEPS_WORKER"

// worker is what a worker process is told. Dies is the step in which it is killed: its call is made, its answer not saved.
type worker struct{ Network, Redis, Database, Gateway, Carrier, Dies string }

func workerOf(told string) (worker, bool) {
	f := strings.Split(told, "\n")
	if len(f) != 6 {
		return worker{}, false
	}
	return worker{f[0], f[1], f[2], f[3], f[4], f[5]}, true
}

type charge struct{ Cents int }

type charged struct{ Charge string }

type parcel struct{ Street string }

type shipped struct{ Parcel string }

// fulfil is the handler: three steps, each kept for itself.
func (w worker) fulfil(ctx context.Context, r *receipt.Receipts, job *waybill.Job[order]) error {
	// The gateway knows an idempotency key for a day: an unanswered call may be made again within that time.
	pay := receipt.Operation[charge, charged]{Request: charge{job.Args.Cents}, Send: w.charge, KeyTTL: 24 * time.Hour}
	paid, err := pay.Do(ctx, r, receipt.For(job, "charge"))
	if err != nil {
		return err
	}
	fmt.Printf("attempt %d: charge %s\n", job.Number, paid.Outcome)

	// The carrier knows no keys, and can be asked. A minute after the last call could have come, "not found" is believed.
	ship := receipt.Operation[parcel, shipped]{
		Request: parcel{job.Args.Street}, Send: w.ship, Lookup: w.find, Timeout: 10 * time.Second, Final: time.Minute,
	}
	sent, err := ship.Do(ctx, r, receipt.For(job, "ship"))
	if err != nil {
		return err
	}
	fmt.Printf("attempt %d: ship %s, %s\n", job.Number, sent.Outcome, sent.Value.Parcel)

	// The mail is a row in our own database: it commits with its receipt.
	written, err := r.Do(ctx, receipt.For(job, "mail"), func(ctx context.Context, tx *sql.Tx) error {
		text := fmt.Sprintf("charged by %s, sent as %s", paid.Value.Charge, sent.Value.Parcel)
		_, err := tx.ExecContext(ctx, "INSERT INTO mails VALUES (?, ?)", job.Args.Mail, text)
		return err
	})
	if err == nil {
		fmt.Printf("attempt %d: mail %s\n", job.Number, written)
	}
	return err
}

func (w worker) charge(ctx context.Context, c receipt.Call[charge]) (charged, error) {
	var got charged
	err := ask(ctx, http.MethodPost, w.Gateway, c.IdempotencyKey, c.Raw, &got)
	w.dieIn("charge")
	return got, err
}

func (w worker) ship(ctx context.Context, c receipt.Call[parcel]) (shipped, error) {
	var got shipped
	err := ask(ctx, http.MethodPost, w.Carrier, c.IdempotencyKey, c.Raw, &got)
	w.dieIn("ship")
	return got, err
}

func (w worker) find(ctx context.Context, c receipt.Call[parcel]) (shipped, error) {
	var got shipped
	return got, ask(ctx, http.MethodGet, w.Carrier, c.IdempotencyKey, nil, &got)
}

// dieIn kills this process where it is to die.
func (w worker) dieIn(step string) {
	if self, err := os.FindProcess(os.Getpid()); err == nil && w.Dies == step {
		_ = self.Kill()
		select {}
	}
}

// ask calls another system, and makes of its status one of the five answers.
func ask(ctx context.Context, method, url, key string, body []byte, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err // unknown: it may have happened
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound && method == http.MethodGet:
		return receipt.NotFound()
	case res.StatusCode == http.StatusAccepted, res.StatusCode == http.StatusConflict: // 409: the key is in use
		return receipt.Pending(time.Minute, res.Status)
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusServiceUnavailable:
		return receipt.Busy(10*time.Second, res.Status)
	case res.StatusCode == http.StatusPaymentRequired, res.StatusCode == http.StatusUnprocessableEntity:
		return receipt.Refused(res.Status)
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answered %s", url, res.Status) // unknown
	}
	return json.NewDecoder(res.Body).Decode(into)
}

// run works until it is told to stop.
func (w worker) run(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	db, d, err := database.Open(ctx, w.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	receipts, err := receipt.New(db, d, receipt.Options{})
	if err != nil {
		return err
	}
	rdb := redis.NewClient(&redis.Options{Network: w.Network, Addr: w.Redis})
	defer rdb.Close()
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	// A short lease, so that the next worker need not wait for 30 s.
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{Lease: time.Second})
	if err != nil {
		return err
	}
	fulfil.Handle(worker, func(ctx context.Context, job *waybill.Job[order]) error { return w.fulfil(ctx, receipts, job) })
	return worker.Run(ctx)
}
