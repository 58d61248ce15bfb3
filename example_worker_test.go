package waybill_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
)

// handled enqueues one job for a handler and waits for its end.
func handled(handle func(context.Context, *waybill.Job[welcome]) error) {
	client, end := private()
	defer end()
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		panic(err)
	}
	sendWelcome.Handle(worker, handle)
	defer serve(client, worker)()
	ctx := context.Background()
	sent, err := sendWelcome.Enqueue(ctx, client, welcome{User: 7}, waybill.ID("user-7"))
	if err != nil {
		panic(err)
	}
	fmt.Println("ended:", sendWelcome.Wait(ctx, client, sent.ID))
}

// The attempt has failed, and the other side has said when to come again.
func ExampleRetryAfter() {
	handled(func(_ context.Context, job *waybill.Job[welcome]) error {
		fmt.Println("attempt", job.Number, "failures", job.Failures)
		if job.Number == 1 {
			return waybill.RetryAfter(10*time.Millisecond, errors.New("too many requests"))
		}
		return nil
	})
	// Output:
	// attempt 1 failures 0
	// attempt 2 failures 1
	// ended: <nil>
}

// It is not yet time, which is nobody's failure.
func ExampleSnooze() {
	handled(func(_ context.Context, job *waybill.Job[welcome]) error {
		fmt.Println("attempt", job.Number, "failures", job.Failures)
		if job.Number == 1 {
			return waybill.Snooze(10 * time.Millisecond)
		}
		return nil
	})
	// Output:
	// attempt 1 failures 0
	// attempt 2 failures 0
	// ended: <nil>
}

// No retry can mend it.
func ExampleDead() {
	handled(func(context.Context, *waybill.Job[welcome]) error {
		return waybill.Dead(errors.New("no such user"))
	})
	// Output: ended: job user-7 in queue mail ended dead: no such user
}

// The work is no longer wanted.
func ExampleCancel() {
	handled(func(context.Context, *waybill.Job[welcome]) error {
		return waybill.Cancel("the user has left")
	})
	// Output: ended: job user-7 in queue mail ended cancelled: the user has left
}

// Before a step that can't be undone, an attempt may ask whether the job is still its own.
func ExampleAttempt_Check() {
	handled(func(ctx context.Context, job *waybill.Job[welcome]) error {
		if err := job.Check(ctx); err != nil {
			return err // ErrLeaseLost: somebody else has the job by now
		}
		fmt.Println("sent with key", job.IdempotencyKey())
		return nil
	})
	// Output:
	// sent with key welcome.send/user-7
	// ended: <nil>
}

func ExampleAttempt_Progress() {
	client, end := private()
	defer end()
	worker, _ := waybill.NewWorker(client, waybill.WorkerOptions{})
	sendWelcome.Handle(worker, func(ctx context.Context, job *waybill.Job[welcome]) error {
		if err := job.Progress(ctx, 40, "two of five pages"); err != nil {
			return err
		}
		info, err := client.Queue(job.Queue).Get(ctx, job.ID) // as anybody may
		fmt.Println(info.State, info.Progress.Percent, info.Progress.Note)
		return err
	})
	defer serve(client, worker)()

	ctx := context.Background()
	sent, _ := sendWelcome.Enqueue(ctx, client, welcome{User: 7})
	_ = sendWelcome.Wait(ctx, client, sent.ID)
	// Output: active 40 two of five pages
}

// A long handler that can go on later gives its job back when the worker stops.
func ExampleAttempt_Stopping() {
	client, end := private()
	defer end()
	began := make(chan struct{})
	worker, _ := waybill.NewWorker(client, waybill.WorkerOptions{})
	sendWelcome.Handle(worker, func(ctx context.Context, job *waybill.Job[welcome]) error {
		close(began)
		select {
		case <-job.Stopping():
			fmt.Println("saved")
			return waybill.Snooze(0)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	stop := serve(client, worker)

	ctx := context.Background()
	sent, _ := sendWelcome.Enqueue(ctx, client, welcome{User: 7})
	<-began
	stop()
	info, _ := client.Queue(sent.Queue).Get(ctx, sent.ID)
	fmt.Println(info.State, info.Failures)
	// Output:
	// saved
	// scheduled 0
}

// A job that another one causes has its ID from it: an attempt that is repeated enqueues it once.
func ExampleCausedBy() {
	client, end := private()
	defer end()
	attempt := &waybill.Attempt{ID: "order-17"} // in a handler: job.Attempt

	for range 2 {
		sent, _ := sendWelcome.Enqueue(context.Background(), client, welcome{User: 7}, waybill.CausedBy(attempt, "welcome"))
		fmt.Println(sent.ID, sent.Outcome)
	}
	// Output:
	// order-17/welcome accepted
	// order-17/welcome duplicate
}

func ExampleAcceptOld() {
	client, end := private()
	defer end()
	ctx := context.Background()
	type nameV0 struct{ Name string } // the shape of jobs that may still wait
	type name struct{ First, Last string }
	kind := waybill.Define[name]("name.sync", waybill.KindOptions{Version: 1})
	waybill.AcceptOld(kind, 0, func(old nameV0) (name, error) {
		first, last, _ := strings.Cut(old.Name, " ")
		return name{first, last}, nil
	})
	worker, _ := waybill.NewWorker(client, waybill.WorkerOptions{})
	kind.Handle(worker, func(_ context.Context, job *waybill.Job[name]) error {
		fmt.Println(job.Args.Last)
		return nil
	})
	defer serve(client, worker)()

	old := waybill.Define[nameV0]("name.sync", waybill.KindOptions{})
	sent, _ := old.Enqueue(ctx, client, nameV0{"Ada Lovelace"})
	_ = kind.Wait(ctx, client, sent.ID)
	// Output: Lovelace
}

func ExampleWorker_Use() {
	client, end := private()
	defer end()
	ctx := context.Background()
	worker, _ := waybill.NewWorker(client, waybill.WorkerOptions{})
	worker.Use(func(next waybill.Handler) waybill.Handler {
		return func(ctx context.Context, a *waybill.Attempt) ([]byte, error) {
			result, err := next(ctx, a)
			fmt.Println(a.Kind, a.Number, err)
			return result, err
		}
	})
	sendWelcome.Handle(worker, func(context.Context, *waybill.Job[welcome]) error { return nil })
	defer serve(client, worker)()

	sent, _ := sendWelcome.Enqueue(ctx, client, welcome{User: 7})
	_ = sendWelcome.Wait(ctx, client, sent.ID)
	// Output: welcome.send 1 <nil>
}

func ExampleWorker_Quiet() {
	client, end := private()
	defer end()
	ctx := context.Background()
	worker, _ := waybill.NewWorker(client, waybill.WorkerOptions{Concurrency: 1})
	sendWelcome.Handle(worker, func(context.Context, *waybill.Job[welcome]) error {
		worker.Quiet() // as on a signal before a deploy
		return nil     // what runs goes on to its end
	})
	defer serve(client, worker)()

	first, _ := sendWelcome.Enqueue(ctx, client, welcome{User: 7})
	_ = sendWelcome.Wait(ctx, client, first.ID)
	second, _ := sendWelcome.Enqueue(ctx, client, welcome{User: 8})
	info, _ := client.Queue("mail").Get(ctx, second.ID)
	fmt.Println(info.State)
	// Output: ready
}

func ExampleWorker_AddQueue() {
	client, end := private()
	defer end()
	ctx := context.Background()
	worker, _ := waybill.NewWorker(client, waybill.WorkerOptions{})
	sendWelcome.Handle(worker, func(_ context.Context, job *waybill.Job[welcome]) error {
		fmt.Println("from", job.Queue)
		return nil
	})
	if err := worker.AddQueue(waybill.QueueOptions{Name: "mail"}); err != nil {
		fmt.Println(err)
	}
	if err := worker.AddQueue(waybill.QueueOptions{Name: "tenant-7", Concurrency: 2, Weight: 3}); err != nil {
		fmt.Println(err)
	}
	defer serve(client, worker)()

	sent, _ := sendWelcome.On("tenant-7").Enqueue(ctx, client, welcome{User: 7})
	_ = sendWelcome.On("tenant-7").Wait(ctx, client, sent.ID)
	// Output: from tenant-7
}

// An observer counts, measures and traces; it is to be quick.
func ExampleEvent() {
	client, end := private()
	defer end()
	ended := make(chan waybill.Event, 1)
	worker, _ := waybill.NewWorker(client, waybill.WorkerOptions{Observe: func(e waybill.Event) {
		if e.Type == waybill.EventEnded {
			ended <- e
		}
	}})
	sendWelcome.Handle(worker, func(context.Context, *waybill.Job[welcome]) error { return nil })
	defer serve(client, worker)()

	_, _ = sendWelcome.Enqueue(context.Background(), client, welcome{User: 7}, waybill.ID("user-7"))
	e := <-ended
	fmt.Println(e.ID, e.Attempt, e.Outcome, e.Recorded)
	// Output: user-7 1 completed true
}
