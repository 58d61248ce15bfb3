// Command queues works several queues off with one worker, and looks on.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

type export struct{ Name string }

var (
	exportData = waybill.Define[export]("data.export", waybill.KindOptions{
		Queue: "exports", Concurrency: 2, Retention: time.Hour, // two at a time in this process, whatever the queue
	})
	urgent = exportData.On("urgent") // the same kind in another queue
)

func main() {
	if err := queues(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})); err != nil {
		log.Fatal(err)
	}
}

func queues(ctx context.Context, rdb *redis.Client) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	var done atomic.Int64
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{
		Concurrency: 10, // over all queues
		Queues: []waybill.QueueOptions{
			{Name: "urgent", Weight: 5}, // five slots for each one of exports, where both want some
			{Name: "exports", Concurrency: 4},
		}, // StrictPriority: true would serve exports only where urgent wants nothing
		Observe: func(e waybill.Event) {
			if e.Type == waybill.EventEnded && e.Outcome == waybill.AttemptCompleted {
				done.Add(1)
			}
		},
	})
	if err != nil {
		return err
	}
	exportData.Handle(worker, func(ctx context.Context, job *waybill.Job[export]) error {
		return job.Progress(ctx, 50, "half of "+job.Args.Name) // waybill job get shows it
	})
	run, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(run) }()
	err = produce(ctx, client, worker)
	worker.Quiet() // takes nothing new; what runs goes on
	stop()
	err = errors.Join(err, <-ended)
	fmt.Println("done:", done.Load())
	return err
}

func produce(ctx context.Context, client *waybill.Client, worker *waybill.Worker) error {
	tenant := exportData.On("tenant-7") // queues come and go while the worker runs
	if err := worker.AddQueue(waybill.QueueOptions{Name: "tenant-7"}); err != nil {
		return err
	}
	for _, kind := range []*waybill.Kind[export]{urgent, exportData, tenant} {
		sent, err := kind.Enqueue(ctx, client, export{"orders"}, waybill.ID("export-1"))
		if err != nil {
			return err
		}
		if err := kind.Wait(ctx, client, sent.ID); err != nil {
			return err
		}
		info, err := client.Queue(sent.Queue).Get(ctx, sent.ID)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s, %d %% %s\n", info.Queue, info.State, info.Progress.Percent, info.Progress.Note)
	}
	return worker.DropQueue(ctx, "tenant-7")
}
