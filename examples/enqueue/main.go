// Command enqueue sends jobs in all ways that there are, and says what became of each.
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

type welcome struct{ User int }

var sendWelcome = waybill.Define[welcome]("welcome.send", waybill.KindOptions{Queue: "mail"})

func main() {
	if err := enqueue(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})); err != nil {
		log.Fatal(err)
	}
}

func enqueue(ctx context.Context, rdb *redis.Client) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	capacity := int64(4)
	if err := client.Queue("mail").Set(ctx, waybill.QueueSettings{Capacity: &capacity}); err != nil {
		return err
	}
	send := func(user int, o ...waybill.EnqueueOption) {
		sent, err := sendWelcome.Enqueue(ctx, client, welcome{user}, o...)
		fmt.Println(advice(sent, err))
	}
	send(7, waybill.ID("user-7/welcome"))
	send(7, waybill.ID("user-7/welcome")) // once more: the job is there
	send(8, waybill.ID("user-7/welcome")) // other work under the same ID
	send(8, waybill.After(time.Minute))
	send(9, waybill.At(time.Now().Add(time.Hour)), waybill.Header("tenant", "blue"))
	send(10, waybill.Priority(5), waybill.LIFO())     // before all others, and before those of its priority
	send(11)                                          // the queue holds four
	send(12, waybill.OnFull(waybill.FullSpill))       // kept aside until there is room
	send(13, waybill.OnFull(waybill.FullPolicy(1e7))) // waits 10 ms for room
	send(14, waybill.Priority(5000))                  // beyond the limit
	return nil
}

// advice says what to do after an enqueue.
func advice(sent waybill.Enqueued, err error) string {
	var full *waybill.FullError
	switch {
	case err == nil:
		return fmt.Sprintf("%s: the job is taken", sent.Outcome)
	case errors.As(err, &full):
		return fmt.Sprintf("%s: %d of %d: come later, or spill", sent.Outcome, full.Depth, full.Capacity)
	case errors.Is(err, waybill.ErrUnknown):
		return fmt.Sprintf("%s: perhaps it is there: ask again with ID %s", sent.Outcome, sent.ID)
	case errors.Is(err, waybill.ErrUnavailable):
		return fmt.Sprintf("%s: nothing happened: come later", sent.Outcome)
	default: // ErrConflict, ErrInvalid
		return fmt.Sprintf("%s: a mistake of the program: %v", sent.Outcome, err)
	}
}
