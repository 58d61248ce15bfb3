package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/topic"
)

type placed struct{ Order int }

var placements = topic.Define[placed]("placements")

// place saves an order and publishes that it was placed: both, or neither.
func (s shop) place(ctx context.Context, number, cents int) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?, ?)", number, cents); err != nil {
		return err
	}
	id := waybill.ID(fmt.Sprintf("order-%d", number))
	if err := s.box.Publish(ctx, tx, placements.Request(placed{number}, id)); err != nil {
		return err
	}
	return tx.Commit()
}

// subscribe makes the worker bill what was placed.
func (s shop) subscribe(worker *waybill.Worker) {
	placements.Subscribe(worker, "billing", topic.SubscribeOptions{}, func(_ context.Context, job *waybill.Job[placed]) error {
		s.billed <- job.Args.Order
		return nil
	})
}
