// Command worker is the process that the tests kill. It dies at the step that it was told.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/test/effects"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test lets go, or is gone
	}()
	var o effects.Orders
	if err := json.Unmarshal([]byte(os.Args[1]), &o); err != nil {
		log.Fatal(err)
	}
	if err := work(ctx, o); err != nil {
		log.Fatal(err)
	}
}

func work(ctx context.Context, o effects.Orders) error {
	t := newTrap(o.Die)
	handle, err := open(ctx, o, t)
	if err != nil {
		return err
	}
	at, err := redis.ParseURL(o.Redis)
	if err != nil {
		return err
	}
	at.MaxRetries = -1
	rdb := redis.NewClient(at)
	defer rdb.Close()
	rdb.AddHook(hook{t, o.Settle})
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	defer client.Close()
	w, err := waybill.NewWorker(client, waybill.WorkerOptions{
		Concurrency: 1, Lease: time.Duration(o.LeaseMS) * time.Millisecond,
		Logger: logger(),
	})
	if err != nil {
		return err
	}
	kind := waybill.Define[effects.Args](effects.Kind, waybill.KindOptions{Queue: o.Queue})
	kind.Handle(w, func(ctx context.Context, job *waybill.Job[effects.Args]) error {
		if job.Number == 1 && o.Die != "" {
			w.Quiet() // it dies with this job, and with no other
		}
		a, err := t.begin(ctx, job.Attempt)
		if err != nil {
			return err
		}
		return handle(withAttempt(ctx, a), job)
	})
	return w.Run(ctx)
}
