package main

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
	"github.com/waybillhq/waybill/test/internal/victim"
	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

// work runs the jobs of a queue until ctx ends, and says of each that it was given.
func work(ctx context.Context, c *waybill.Client, o outboxtest.Orders) error {
	w, err := waybill.NewWorker(c, waybill.WorkerOptions{
		Queues: []waybill.QueueOptions{{Name: o.Queue}}, Concurrency: 4,
		Lease: time.Duration(o.LeaseMS) * time.Millisecond, Logger: victim.Logger(slog.LevelError),
	})
	if err != nil {
		return err
	}
	effect := func(context.Context, *waybill.Attempt) error { return nil }
	if o.Receipts {
		db, err := sql.Open(o.Driver, o.DSN)
		if err != nil {
			return err
		}
		defer db.Close()
		db.SetMaxIdleConns(8) // else they come and go
		if effect, err = withReceipt(db, receipt.Dialect(o.Dialect)); err != nil {
			return err
		}
	}
	policy := waybill.KindOptions{Retry: waybill.Exponential(10*time.Millisecond, 100*time.Millisecond)}
	w.HandleFunc(waybill.AnyKind, policy, func(ctx context.Context, a *waybill.Attempt) ([]byte, error) {
		victim.Say(outboxtest.Said{Job: a.ID})
		return nil, effect(ctx, a)
	})
	return w.Run(ctx)
}

// withReceipt writes a row into the table effect, in one transaction with the receipt.
func withReceipt(db *sql.DB, d receipt.Dialect) (func(context.Context, *waybill.Attempt) error, error) {
	r, err := receipt.New(db, d, receipt.Options{})
	if err != nil {
		return nil, err
	}
	insert := "INSERT INTO effect (job) VALUES (?)"
	if d == receipt.PostgreSQL {
		insert = "INSERT INTO effect (job) VALUES ($1)"
	}
	return func(ctx context.Context, a *waybill.Attempt) error {
		_, err := r.Do(ctx, receipt.ForAttempt(a), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, insert, a.ID)
			return err
		})
		return err
	}, nil
}
