// Command middleware logs each attempt, and carries a trace from who enqueues to who handles.
package main

import (
	"context"
	"log"
	"log/slog"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

type welcome struct{ User int }

var sendWelcome = waybill.Define[welcome]("welcome.send", waybill.KindOptions{Queue: "mail"})

type traceKey struct{}

// withTrace gives each job the trace of its caller as a header.
func withTrace(next waybill.Enqueuer) waybill.Enqueuer {
	return func(ctx context.Context, requests []waybill.Request) []waybill.Enqueued {
		if trace, ok := ctx.Value(traceKey{}).(string); ok {
			for i := range requests {
				requests[i].SetHeader("traceparent", trace)
			}
		}
		return next(ctx, requests)
	}
}

// inTrace gives the handler the trace of who enqueued the job.
func inTrace(next waybill.Handler) waybill.Handler {
	return func(ctx context.Context, a *waybill.Attempt) ([]byte, error) {
		return next(context.WithValue(ctx, traceKey{}, a.Headers["traceparent"]), a)
	}
}

const keyJob, keyNumber, keyTrace, keyError = "job", "number", "trace", "error"

// logged writes a line an attempt.
func logged(logger *slog.Logger) waybill.Middleware {
	return func(next waybill.Handler) waybill.Handler {
		return func(ctx context.Context, a *waybill.Attempt) ([]byte, error) {
			result, err := next(ctx, a)
			logger.LogAttrs(ctx, slog.LevelInfo, "attempt", slog.String(keyJob, a.ID), slog.Int(keyNumber, a.Number),
				slog.Any(keyTrace, ctx.Value(traceKey{})), slog.Any(keyError, err))
			return result, err
		}
	}
}

func main() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, nil))
	if err := run(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}), logger); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, rdb *redis.Client, logger *slog.Logger) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	client.Use(withTrace)
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{Logger: logger})
	if err != nil {
		return err
	}
	worker.Use(inTrace, logged(logger)) // the first is the outermost
	work, stop := context.WithCancel(ctx)
	sendWelcome.Handle(worker, func(context.Context, *waybill.Job[welcome]) error {
		stop() // an example ends after one job
		return nil
	})
	request := context.WithValue(ctx, traceKey{}, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if _, err := sendWelcome.Enqueue(request, client, welcome{User: 7}, waybill.ID("user-7/welcome")); err != nil {
		stop()
		return err
	}
	return worker.Run(work)
}
