// Command worker is the process that the tests kill. It dies at the step that it was told.
package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/test/effects"
	"github.com/waybillhq/waybill/test/internal/victim"
)

func main() { victim.Main(work) }

func work(ctx context.Context, o effects.Orders) error {
	t := newTrap(o.Die)
	handle, err := open(ctx, o, t)
	if err != nil {
		return err
	}
	rdb, err := victim.Redis(o.Redis)
	if err != nil {
		return err
	}
	defer rdb.Close()
	rdb.AddHook(victim.Scripts{Digests: o.Settle, Around: t.settle})
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	defer client.Close()
	w, err := waybill.NewWorker(client, waybill.WorkerOptions{
		Concurrency: 1, Lease: time.Duration(o.LeaseMS) * time.Millisecond,
		Logger: victim.Logger(slog.LevelWarn),
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
