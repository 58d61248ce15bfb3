// Command steer shows what a handler can do with a job: by the error it returns.
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

type payment struct{ Answer string }

var collect = waybill.Define[payment]("payment.collect", waybill.KindOptions{
	Queue:       "payments",
	MaxFailures: 3,                                                        // the third failure kills
	Retry:       waybill.Exponential(10*time.Millisecond, 10*time.Second), // or waybill.Fixed, or a function
	Timeout:     time.Minute,
})

func handle(_ context.Context, job *waybill.Job[payment]) error {
	fmt.Printf("%s: attempt %d, %d failures\n", job.Args.Answer, job.Number, job.Failures)
	switch {
	case job.Args.Answer == "busy" && job.Number == 1: // counts as a failure; due when the other side says
		return waybill.RetryAfter(20*time.Millisecond, errors.New("too many requests"))
	case job.Args.Answer == "closed" && job.Number == 1: // not a failure
		return waybill.Snooze(20 * time.Millisecond)
	case job.Args.Answer == "refused": // no retry can mend it
		return waybill.Dead(errors.New("card refused"))
	case job.Args.Answer == "withdrawn":
		return waybill.Cancel("the order was withdrawn")
	case job.Args.Answer == "broken": // tried again as the policy says, until max failures
		return errors.New("connection reset")
	}
	return nil // done
}

func main() {
	if err := steer(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})); err != nil {
		log.Fatal(err)
	}
}

func steer(ctx context.Context, rdb *redis.Client) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		return err
	}
	collect.Handle(worker, handle)
	run, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(run) }()
	for _, answer := range []string{"paid", "busy", "closed", "refused", "withdrawn", "broken"} {
		sent, err := collect.Enqueue(ctx, client, payment{answer}, waybill.ID("order-17/"+answer))
		if err != nil {
			return err
		}
		fmt.Println("ended:", collect.Wait(ctx, client, sent.ID))
	}
	stop()
	return <-ended
}
