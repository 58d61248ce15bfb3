// Command order shows in which order jobs come: by priority, then first in, first out, unless a job is LIFO or due later.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

type page struct{ Name string }

var crawl = waybill.Define[page]("page.crawl", waybill.KindOptions{Queue: "crawl"})

func main() {
	if err := order(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})); err != nil {
		log.Fatal(err)
	}
}

func order(ctx context.Context, rdb *redis.Client) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	for _, p := range []struct {
		name    string
		options []waybill.EnqueueOption
	}{
		{"first", nil},
		{"second", nil},
		{"newest", []waybill.EnqueueOption{waybill.LIFO()}},
		{"background", []waybill.EnqueueOption{waybill.Priority(-10)}},
		{"in a second", []waybill.EnqueueOption{waybill.After(time.Second), waybill.Priority(100)}},
		{"at a time that is past", []waybill.EnqueueOption{waybill.At(time.Now().Add(-time.Hour))}},
		{"urgent", []waybill.EnqueueOption{waybill.Priority(10)}},
	} {
		if _, err := crawl.Enqueue(ctx, client, page{p.name}, p.options...); err != nil {
			return err
		}
	}
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{Concurrency: 1}) // with more, jobs overtake each other
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(ctx)
	defer stop()
	crawl.Handle(worker, func(_ context.Context, job *waybill.Job[page]) error {
		fmt.Println(job.Args.Name)
		if job.Args.Name == "in a second" {
			stop() // it comes last, however high its priority
		}
		return nil
	})
	return worker.Run(run)
}
