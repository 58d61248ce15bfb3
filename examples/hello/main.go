// Command hello sends one job and works it off. README.md shows it from the next line on.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

type receipt struct{ Order int }

var sendReceipt = waybill.Define[receipt]("receipt.send", waybill.KindOptions{Queue: "mail"})

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := hello(ctx, redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})); err != nil {
		log.Fatal(err)
	}
}

func hello(ctx context.Context, rdb *redis.Client) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	// One ID is one job: run this again, and the answer is "duplicate".
	sent, err := sendReceipt.Enqueue(ctx, client, receipt{Order: 17}, waybill.ID("order-17/receipt"))
	if err != nil {
		return err
	}
	fmt.Println(sent.ID, sent.Outcome)

	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		return err
	}
	sendReceipt.Handle(worker, func(ctx context.Context, job *waybill.Job[receipt]) error {
		fmt.Println("receipt for order", job.Args.Order)
		return nil // done; after an error it is tried again
	})
	return worker.Run(ctx) // until Ctrl-C
}
