// Command operate does what an operator does: it pauses a queue, looks through its jobs, and cancels, promotes, requeues
// and deletes some.
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

type report struct{ Month string }

var build = waybill.Define[report]("report.build", waybill.KindOptions{Queue: "reports", MaxFailures: 1, Retention: time.Hour})

func main() {
	if err := operate(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})); err != nil {
		log.Fatal(err)
	}
}

func operate(ctx context.Context, rdb *redis.Client) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		return err
	}
	build.Handle(worker, func(_ context.Context, job *waybill.Job[report]) error {
		if job.Args.Month == "march" && job.Number == 1 {
			return errors.New("disk is full")
		}
		return nil
	})
	run, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(run) }()
	q := build.Queue(client)
	for _, step := range []func(context.Context, *waybill.Client, *waybill.Queue) error{whilePaused, again} {
		if err := step(ctx, client, q); err != nil {
			return err
		}
	}
	stop()
	return <-ended
}

// whilePaused changes jobs while none is delivered; producers do not notice.
func whilePaused(ctx context.Context, client *waybill.Client, q *waybill.Queue) error {
	if err := q.Pause(ctx, "ann, until the disk is larger"); err != nil {
		return err
	}
	for _, month := range []string{"january", "february", "march"} {
		if _, err := build.Enqueue(ctx, client, report{month}, waybill.ID(month)); err != nil {
			return err
		}
	}
	if _, err := build.Enqueue(ctx, client, report{"april"}, waybill.ID("april"), waybill.After(24*time.Hour)); err != nil {
		return err
	}
	err := errors.Join(
		q.Cancel(ctx, "january", "nobody reads it"),
		q.Delete(ctx, "february", waybill.DeleteOptions{}),
		q.Promote(ctx, "april"), // not tomorrow, but now
	)
	stats, errStats := q.Stats(ctx)
	fmt.Printf("%d ready, paused by %s\n", stats.Ready, stats.PausedBy)
	return errors.Join(err, errStats, q.Resume(ctx))
}

// again looks for what failed of one cause, and lets it run again once the cause is gone.
func again(ctx context.Context, client *waybill.Client, q *waybill.Queue) error {
	fmt.Println(build.Wait(ctx, client, "april"))
	fmt.Println(build.Wait(ctx, client, "march"))
	dead := waybill.Filter{States: []waybill.State{waybill.StateDead}, ErrorContains: "disk"}
	for job, err := range q.Jobs(ctx, dead) {
		if err != nil {
			return err
		}
		fmt.Println("requeued:", job.ID, job.Errors[0].Message)
		if err := q.Requeue(ctx, job.ID); err != nil {
			return err
		}
	}
	fmt.Println(build.Wait(ctx, client, "march"))
	fmt.Println(build.Wait(ctx, client, "january"))
	fmt.Println(build.Wait(ctx, client, "february"))
	return nil
}
