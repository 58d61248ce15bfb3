// Command hello sends one job and works it off. README.md shows it from the next line on.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

type receipt struct{ Order int }

// Declared once, for those who send and those who work.
var sendReceipt = waybill.Define[receipt]("receipt.send", waybill.KindOptions{Queue: "mail"})

var addr = "localhost:6379"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client, err := waybill.NewClient(redis.NewClient(&redis.Options{Addr: addr}), waybill.ClientOptions{})
	if err != nil {
		log.Fatal(err)
	}

	// The producer, say a web server. One ID is one job: run this again, and the answer is "duplicate".
	sent, err := sendReceipt.Enqueue(ctx, client, receipt{Order: 17}, waybill.ID("order-17/receipt"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sent.ID, sent.Outcome)

	// The worker, mostly another process.
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	sendReceipt.Handle(worker, func(ctx context.Context, job *waybill.Job[receipt]) error {
		fmt.Println("receipt for order", job.Args.Order)
		return nil // done; after an error it is tried again
	})
	if err := worker.Run(ctx); err != nil { // until Ctrl-C or SIGTERM
		log.Fatal(err)
	}
}
