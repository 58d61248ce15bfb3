// Command wait hands work to a worker and waits for its result.
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

type order struct{ Cents []int }

type total struct{ Cents int }

var sum = waybill.DefineResult[order, total]("order.sum", waybill.KindOptions{Retention: time.Hour})

func main() {
	if err := wait(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})); err != nil {
		log.Fatal(err)
	}
}

func wait(ctx context.Context, rdb *redis.Client) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		return err
	}
	sum.Handle(worker, func(_ context.Context, job *waybill.Job[order]) (total, error) {
		if len(job.Args.Cents) == 0 {
			return total{}, waybill.Dead(errors.New("an order of nothing"))
		}
		var t total
		for _, c := range job.Args.Cents {
			t.Cents += c
		}
		return t, nil
	})
	run, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(run) }()

	// Enqueue and wait in one.
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	t, err := sum.Call(ctx, client, order{[]int{900, 350}})
	fmt.Println(t.Cents, err)

	// Wait for a job of which only the ID is known, perhaps in another process.
	sent, err := sum.Enqueue(ctx, client, order{}, waybill.ID("order-18/sum"))
	if err != nil {
		return err
	}
	_, err = sum.Wait(ctx, client, sent.ID)
	var end *waybill.EndedError // dead, cancelled and deleted are told apart
	fmt.Println(errors.Is(err, waybill.ErrDead), errors.As(err, &end) && end.LastError == "an order of nothing")

	stop()
	return <-ended
}
