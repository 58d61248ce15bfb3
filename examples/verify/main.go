// Command verify records a run of producers and workers, and checks afterwards that the promises were kept.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/history"
)

type mail struct{ To string }

var sendMail = waybill.Define[mail]("mail.send", waybill.KindOptions{Queue: "mail"})

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	if err := verify(context.Background(), rdb, "history.jsonl"); err != nil {
		log.Fatal(err)
	}
}

// verify does a run and checks it. In earnest producers, workers and the one who writes the account are processes of their
// own; all append to one file, or each has its own.
func verify(ctx context.Context, rdb *redis.Client, path string) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	defer client.Close()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	recorder := history.New(file, "mail-1") // the name of this process
	recorder.Write(history.Event{Op: history.OpRun, Grade: "always"})
	if err := produce(ctx, client, recorder); err != nil {
		return err
	}
	if err := work(ctx, client, recorder); err != nil {
		return err
	}
	if err := account(ctx, client, recorder, path); err != nil {
		return err
	}
	return check(path)
}

// produce records what becomes of each enqueue.
func produce(ctx context.Context, client *waybill.Client, recorder *history.Recorder) error {
	client.Use(recorder.Enqueues) // the last one, so that nothing changes a request after it
	for i := range 3 {
		if _, err := sendMail.Enqueue(ctx, client, mail{"ann@example.com"}, waybill.ID(fmt.Sprintf("mail-%d", i))); err != nil {
			return err
		}
	}
	return nil
}

// work records each attempt, and what Redis said of its end.
func work(ctx context.Context, client *waybill.Client, recorder *history.Recorder) error {
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{Observe: recorder.Observe})
	if err != nil {
		return err
	}
	worker.Use(recorder.Attempts)
	sendMail.Handle(worker, func(context.Context, *waybill.Job[mail]) error { return nil })
	run, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(run) }()
	for i := range 3 {
		waiting, cancel := context.WithTimeout(ctx, time.Minute)
		err := sendMail.Wait(waiting, client, fmt.Sprintf("mail-%d", i))
		cancel()
		if err != nil {
			return err
		}
	}
	stop()
	return <-ended
}

// account writes down how all stands, once everything has come to rest.
func account(ctx context.Context, client *waybill.Client, recorder *history.Recorder, path string) error {
	soFar, err := os.Open(path)
	if err != nil {
		return err
	}
	defer soFar.Close()
	return recorder.Account(ctx, client, soFar)
}

// check is what `waybill verify history.jsonl` does.
func check(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return tell(os.Stdout, file)
}

func tell(w io.Writer, r io.Reader) error {
	report, err := history.Check(r)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d jobs, %d deliveries, %d lost, clean: %v\n", report.Jobs, report.Deliveries, report.Lost, report.Clean())
	for _, promise := range report.Invariants {
		for _, v := range promise.Violations {
			fmt.Fprintf(w, "%s: job %s in queue %s: %s, line %d\n", promise.Name, v.Job, v.Queue, v.Text, v.Lines[0].Number)
		}
	}
	return nil
}
