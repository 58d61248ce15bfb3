package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/test/fault/stage"
	"github.com/waybillhq/waybill/test/internal/victim"
	"github.com/waybillhq/waybill/topic"
)

// againAfter is how long a producer waits before it asks again.
const againAfter = 20 * time.Millisecond

func jobID(n int) string { return fmt.Sprintf("job-%06d", n) }

// numbers are those of one call.
func (a *actor) numbers(from int) []int {
	var all []int
	for n := from; n < min(from+max(a.Batch, 1), a.From+a.Jobs); n++ {
		all = append(all, n)
	}
	return all
}

func (a *actor) produce(ctx context.Context) error {
	kind := waybill.Define[int](stage.Kind, waybill.KindOptions{Queue: a.Queue, Retention: a.Retention})
	return a.send(ctx, func(ctx context.Context, n []int) []waybill.Enqueued {
		if a.Batch == 0 {
			e, err := kind.Enqueue(ctx, a.client, n[0], a.options(n[0])...)
			e.Err = err
			return []waybill.Enqueued{e}
		}
		requests := make([]waybill.Request, len(n))
		for i, n := range n {
			requests[i] = kind.Request(n, a.options(n)...)
		}
		out, _ := a.client.EnqueueMany(ctx, requests)
		return out
	})
}

func (a *actor) options(n int) []waybill.EnqueueOption {
	o := []waybill.EnqueueOption{waybill.ID(jobID(n)), waybill.Header("n", jobID(n))}
	if n%3 == 2 && a.Delay > 0 {
		o = append(o, waybill.After(a.Delay))
	}
	if n%5 == 4 {
		o = append(o, waybill.Priority(n%7-3))
	}
	return o
}

func (a *actor) publish(ctx context.Context) error {
	events := topic.Define[int](a.Queue)
	return a.send(ctx, func(ctx context.Context, n []int) []waybill.Enqueued {
		requests := make([]waybill.Request, len(n))
		for i, n := range n {
			requests[i] = events.Request(n, waybill.ID(jobID(n)))
		}
		out, _ := a.client.EnqueueMany(ctx, requests)
		return out
	})
}

// send sends all jobs, each until it is told what became of it.
func (a *actor) send(ctx context.Context, call func(context.Context, []int) []waybill.Enqueued) error {
	victim.Say(stage.Said{Up: true})
	for n := a.From; n < a.From+a.Jobs && ctx.Err() == nil; n += max(a.Batch, 1) {
		for left := a.numbers(n); len(left) > 0 && ctx.Err() == nil; {
			var again []int
			for i, e := range call(ctx, left) {
				if errors.Is(e.Err, waybill.ErrUnknown) || errors.Is(e.Err, waybill.ErrUnavailable) || errors.Is(e.Err, waybill.ErrFull) {
					again = append(again, left[i])
				}
			}
			if left = again; len(left) > 0 {
				pause(ctx, againAfter)
			}
		}
		pause(ctx, a.Every)
	}
	victim.Say(stage.Said{Ended: ctx.Err() == nil})
	return nil
}

// await enqueues jobs and waits for each until it is told its end.
func (a *actor) await(ctx context.Context) error {
	kind := waybill.Define[int](stage.Kind, waybill.KindOptions{Queue: a.Queue, Retention: a.Retention})
	victim.Say(stage.Said{Up: true})
	for n := a.From; n < a.From+a.Jobs && ctx.Err() == nil; n++ {
		a.until(ctx, func() error {
			_, err := kind.Enqueue(ctx, a.client, n, a.options(n)...)
			return err
		})
		a.until(ctx, func() error {
			begun := history.Now()
			err := kind.Wait(ctx, a.client, jobID(n))
			if ctx.Err() == nil {
				a.tells.Write(waited(history.Event{Op: history.OpWait, Begun: begun, Queue: a.Queue, Job: jobID(n)}, err))
			}
			return err
		})
	}
	victim.Say(stage.Said{Ended: ctx.Err() == nil})
	return nil
}

// until calls until there is an answer.
func (a *actor) until(ctx context.Context, call func() error) {
	for ctx.Err() == nil {
		err := call()
		if !errors.Is(err, waybill.ErrUnknown) && !errors.Is(err, waybill.ErrUnavailable) {
			return
		}
		pause(ctx, againAfter)
	}
}

// waited says what a wait brought.
func waited(e history.Event, err error) history.Event {
	e.Outcome, e.Code = history.OK, string(waybill.StateCompleted)
	var ended *waybill.EndedError
	switch {
	case errors.As(err, &ended):
		e.Code = string(ended.State)
	case err != nil:
		e.Outcome, e.Code = history.Unknown, err.Error()
	}
	return e
}

// pause lets time pass, unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
