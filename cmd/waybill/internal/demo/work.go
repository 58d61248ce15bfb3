package demo

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

// Lease and slots of a worker. A lease is short here, so that a killed worker's jobs come back while one watches.
const (
	lease = 3 * time.Second
	slots = 4
)

// WorkerOptions are what a worker of the demo is told.
type WorkerOptions struct {
	Name    string // by which it greets the outside
	Redis   string // URL
	Mail    string // host:port of the mail server
	Gateway string // URL of the payment gateway
	Model   string // path of the scoring model
	Ledger  string // path of the database in which payments, invoices and sales are booked

	Confirm  string // host:port of the mail server for confirmations
	Accounts string // URL that is told of invoices
}

// args are the worker's command line, for the hidden command that runs Work.
func (o WorkerOptions) args() []string {
	return []string{"demo-worker", o.Name, o.Mail, o.Gateway, o.Model, o.Ledger, o.Confirm, o.Accounts, "--redis", o.Redis}
}

// worker has what the handlers need.
type worker struct {
	WorkerOptions
	http     *http.Client
	model    model // loaded once
	db       *sql.DB
	receipts *receipt.Receipts
}

// Work is the program of a worker of the demo, as a user would write one. It returns when ctx ends and the jobs in
// hand are settled.
func Work(ctx context.Context, o WorkerOptions) error {
	m, err := loadModel(o.Model)
	if err != nil {
		return err
	}
	url, err := redis.ParseURL(o.Redis)
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	rdb := redis.NewClient(url)
	defer rdb.Close()
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	defer client.Close()
	db, receipts, err := openLedger(ctx, o.Ledger)
	if err != nil {
		return err
	}
	defer db.Close()
	run, err := waybill.NewWorker(client, waybill.WorkerOptions{Concurrency: slots, Lease: lease})
	if err != nil {
		return err
	}
	// Go's transport asks again by itself when a kept connection breaks; here each attempt is to be one call.
	alone := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	w := &worker{WorkerOptions: o, model: m, db: db, receipts: receipts, http: alone}
	sendMail.Handle(run, w.sendMail)
	charge.Handle(run, w.charge)
	thumbnail.Handle(run, w.thumbnail)
	scoreTable.Handle(run, w.score)
	postHook.Handle(run, w.postHook)
	w.subscribe(run)
	return run.Run(ctx)
}
