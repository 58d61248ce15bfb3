package beside

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
)

var welcome = waybill.Define[Welcome]("mail.welcome", waybill.KindOptions{
	Queue: "mail", MaxFailures: 6, Timeout: time.Minute, Retention: time.Hour,
})

// Enqueue sends the job once, though it may be called twice.
func Enqueue(ctx context.Context, client *waybill.Client, user int) error {
	_, err := welcome.Enqueue(ctx, client, Welcome{user}, waybill.ID(fmt.Sprintf("user-%d/welcome", user)))
	return err // nil for a duplicate; ErrConflict where the ID is other work
}

// Serve works the queue off until ctx ends.
func Serve(ctx context.Context, client *waybill.Client, send Send) error {
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{Concurrency: 10})
	if err != nil {
		return err
	}
	welcome.Handle(worker, func(ctx context.Context, job *waybill.Job[Welcome]) error {
		err := send(ctx, job.Args.User)
		if errors.Is(err, ErrNoUser) {
			return waybill.Dead(err)
		}
		return err
	})
	return worker.Run(ctx)
}
