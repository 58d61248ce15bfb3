// Command limits bounds a queue, and shows what a producer can do when it is full.
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

type line struct{ Number int }

var index = waybill.Define[line]("line.index", waybill.KindOptions{Queue: "index"})

func main() {
	if err := limits(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})); err != nil {
		log.Fatal(err)
	}
}

func limits(ctx context.Context, rdb *redis.Client) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	capacity, dead := int64(2), int64(1000)
	settings := waybill.QueueSettings{Capacity: &capacity, DeadCount: &dead} // what is nil stays as it is
	if err := index.Queue(client).Set(ctx, settings); err != nil {
		return err
	}
	send := func(n int, on waybill.FullPolicy) {
		sent, err := index.Enqueue(ctx, client, line{n}, waybill.OnFull(on))
		var full *waybill.FullError
		if errors.As(err, &full) {
			fmt.Printf("line %d: %s, the queue holds %d of %d\n", n, sent.Outcome, full.Depth, full.Capacity)
			return
		}
		fmt.Printf("line %d: %s, %v\n", n, sent.Outcome, err)
	}
	send(1, waybill.FullReject) // the default
	send(2, waybill.FullReject)
	send(3, waybill.FullReject)                       // slow down, or tell the user
	send(4, waybill.FullWaitFor(10*time.Millisecond)) // nobody makes room
	send(5, waybill.FullSpill)                        // kept aside; it comes in when there is room
	stats, err := index.Queue(client).Stats(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d ready, %d spilled, %d live\n", stats.Ready, stats.Spilled, stats.Live())

	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{Concurrency: 1})
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(ctx)
	defer stop()
	done := 0
	index.Handle(worker, func(context.Context, *waybill.Job[line]) error {
		if done++; done == 4 { // line 6 may come in before line 5, which was kept aside
			stop()
		}
		return nil
	})
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(run) }()
	sent, err := index.Enqueue(ctx, client, line{6}, waybill.OnFull(waybill.FullWait)) // until there is room, or ctx ends
	fmt.Printf("line 6 is taken: %v, %v\n", sent.Outcome.Taken(), err)
	err = errors.Join(err, <-ended)
	if stats, errStats := index.Queue(client).Stats(ctx); errStats == nil {
		fmt.Printf("%d done, %d live\n", stats.Completed, stats.Live())
	}
	return err
}
