package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/test/fault/stage"
	"github.com/waybillhq/waybill/test/internal/victim"
	"github.com/waybillhq/waybill/topic"
)

const grace = 50 * time.Millisecond

var errFails = errors.New("not yet")

func (a *actor) worker() (*waybill.Worker, error) {
	w, err := waybill.NewWorker(a.client, waybill.WorkerOptions{
		Lease: a.Lease, Grace: grace, Logger: a.logger(), Observe: a.tells.Observe, PollInterval: 100 * time.Millisecond,
	})
	if err == nil {
		w.Use(a.tells.Attempts)
	}
	return w, err
}

func (a *actor) work(ctx context.Context) error { return a.attempts(ctx, "") }

// subscribe works a subscription off, which is made where it is missing.
func (a *actor) subscribe(ctx context.Context) error {
	return a.attempts(ctx, string(topic.Beginning))
}

func (a *actor) attempts(ctx context.Context, place string) error {
	w, err := a.worker()
	if err != nil {
		return err
	}
	effect, err := a.effects()
	if err != nil {
		return err
	}
	o := waybill.KindOptions{Retry: waybill.Fixed(10 * time.Millisecond)}
	q := waybill.QueueOptions{Name: a.Queue, Concurrency: a.Jobs, Subscribe: place}
	waybill.Define[int](stage.Kind, o).HandleQueue(w, q, o, func(ctx context.Context, job *waybill.Job[int]) error {
		a.stop.pass(stage.Handed)
		if a.Progress {
			_ = job.Progress(ctx, 50, "half done") // where it is not told the job goes on
		}
		pause(ctx, a.Takes)
		if context.Cause(ctx) != nil {
			return context.Cause(ctx)
		}
		if end := a.mixed(job); end != nil {
			return end
		}
		err := effect(inAttempt(ctx), job.Attempt)
		a.stop.pass(stage.Returned)
		return err
	})
	return a.serve(ctx, w)
}

// mixed is how some jobs end otherwise than well, by their number; nil = as all others.
func (a *actor) mixed(job *waybill.Job[int]) error {
	switch n := job.Args; {
	case !a.Mixed:
		return nil
	case n%20 == 1 && job.Failures < 2:
		return errFails
	case n%20 == 2 && job.Number < 3:
		return waybill.Snooze(10 * time.Millisecond)
	case n%200 == 3:
		return waybill.Dead(errFails)
	case n%200 == 4:
		return waybill.Cancel("it is not wanted any more")
	}
	return nil
}

// serve runs a worker until it is told to stop: by the end of its standard input, or by SIGTERM.
func (a *actor) serve(ctx context.Context, w *waybill.Worker) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		select {
		case <-term:
			a.stop.pass(stage.Stopping)
			stop()
		case <-ctx.Done():
		}
	}()
	victim.Say(stage.Said{Up: true})
	return w.Run(ctx)
}
