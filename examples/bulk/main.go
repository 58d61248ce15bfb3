// Command bulk sends many jobs in few calls; each is answered alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

type invoice struct{ Order, Cents int }

// JobID names the job after its cause: an order has one invoice, however often the file is read.
func (i invoice) JobID() string { return fmt.Sprintf("order-%d/invoice", i.Order) }

type note struct{ Text string }

var (
	sendInvoice = waybill.Define[invoice]("invoice.send", waybill.KindOptions{Queue: "billing"})
	writeNote   = waybill.Define[note]("note.write", waybill.KindOptions{Queue: "notes"})
)

func main() {
	if err := bulk(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})); err != nil {
		log.Fatal(err)
	}
}

func bulk(ctx context.Context, rdb *redis.Client) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	// Many of one kind. An error says that not all were taken; the answers say which, in the order of the jobs.
	sent, err := sendInvoice.EnqueueMany(ctx, client, []invoice{{1, 900}, {2, 1250}, {1, 900}, {2, 1300}})
	var some *waybill.BulkError
	if err != nil && !errors.As(err, &some) {
		return err
	}
	fmt.Println(some)
	report(sent)

	// Many of several kinds and queues, with options of their own.
	sent, err = client.EnqueueMany(ctx, []waybill.Request{
		sendInvoice.Request(invoice{3, 100}, waybill.Priority(9)),
		writeNote.Request(note{"imported"}, waybill.ID("import-1/note")),
		writeNote.Request(note{"too long a name"}, waybill.ID("import 1 note")),
	})
	report(sent)
	fmt.Println("invalid among them:", errors.Is(err, waybill.ErrInvalid))
	return nil
}

func report(sent []waybill.Enqueued) {
	for _, s := range sent {
		fmt.Printf("%s in %s: %s\n", s.ID, s.Queue, s.Outcome)
	}
}
