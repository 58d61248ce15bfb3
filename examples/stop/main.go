// Command stop shows a long handler that heeds the worker's stop: it notes how far it is, and goes on there next time.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

type archive struct{ Files int }

var pack = waybill.Define[archive]("archive.pack", waybill.KindOptions{Queue: "archives"})

// packer packs files one by one.
type packer struct {
	client *waybill.Client
	packed func(job *waybill.Attempt, file int) // is called after each
}

func (p packer) handle(ctx context.Context, job *waybill.Job[archive]) error {
	info, err := p.client.Queue(job.Queue).Get(ctx, job.ID)
	if err != nil {
		return err
	}
	done := 0
	if info.Progress != nil { // of an earlier attempt
		done = info.Progress.Percent * job.Args.Files / 100
	}
	fmt.Printf("attempt %d begins at file %d\n", job.Number, done+1)
	for ; done < job.Args.Files; done++ {
		select {
		case <-job.Stopping(): // ctx ends only when the grace is over
			return waybill.Snooze(0) // others may have it at once; no failure is counted
		case <-ctx.Done():
			return context.Cause(ctx) // ErrLeaseLost, ErrCancelled, ErrTimeout or ErrShutdown
		default:
		}
		p.packed(job.Attempt, done+1)
		if err := job.Progress(ctx, 100*(done+1)/job.Args.Files, ""); err != nil {
			return err
		}
	}
	return job.Check(ctx) // still ours? Then what can't be undone may follow
}

func main() {
	if err := stop(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})); err != nil {
		log.Fatal(err)
	}
}

func stop(ctx context.Context, rdb *redis.Client) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	if _, err := pack.Enqueue(ctx, client, archive{Files: 5}, waybill.ID("archive-1")); err != nil {
		return err
	}
	for _, last := range []int{2, 5} { // the first worker is stopped after file 2
		worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
		if err != nil {
			return err
		}
		run, end := context.WithCancel(ctx)
		p := packer{client, func(job *waybill.Attempt, file int) {
			fmt.Println("packed file", file)
			if file == last {
				end() // as SIGTERM does, by way of signal.NotifyContext
				<-job.Stopping()
			}
		}}
		pack.Handle(worker, p.handle)
		err = worker.Run(run)
		end()
		if err != nil {
			return err
		}
	}
	stats, err := pack.Queue(client).Stats(ctx)
	fmt.Printf("%d completed, %d snoozed, %d failures\n", stats.Completed, stats.Snoozes, stats.Failures)
	return err
}
