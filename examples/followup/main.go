// Command followup lets one job cause another: a repeated attempt causes it once.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

type order struct{ Number int }

var (
	ship    = waybill.Define[order]("order.ship", waybill.KindOptions{Retry: waybill.Fixed(10 * time.Millisecond)})
	invoice = waybill.Define[order]("order.invoice", waybill.KindOptions{})
)

func main() {
	if err := followUp(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})); err != nil {
		log.Fatal(err)
	}
}

func followUp(ctx context.Context, rdb *redis.Client) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{Concurrency: 1})
	if err != nil {
		return err
	}
	ship.Handle(worker, func(ctx context.Context, job *waybill.Job[order]) error {
		sent, err := invoice.Enqueue(ctx, client, job.Args, waybill.CausedBy(job.Attempt, "invoice"))
		if err != nil {
			return err // tried again; the invoice may be there already
		}
		fmt.Printf("shipped, attempt %d: %s %s\n", job.Number, sent.ID, sent.Outcome)
		if job.Number == 1 {
			return errors.New("the connection broke after the invoice was enqueued")
		}
		return nil
	})
	invoices := 0
	invoice.Handle(worker, func(context.Context, *waybill.Job[order]) error {
		invoices++
		return nil
	})
	run, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(run) }()
	if _, err := ship.Enqueue(ctx, client, order{17}, waybill.ID("order-17")); err != nil {
		return err
	}
	for _, err := range []error{ship.Wait(ctx, client, "order-17"), invoice.Wait(ctx, client, "order-17/invoice")} {
		if err != nil {
			return err
		}
	}
	stop()
	err = <-ended
	fmt.Println("invoices:", invoices)
	return err
}
