package waybill_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/devredis"
)

// The kinds of the examples.
type (
	welcome struct{ User int }
	order   struct{ Cents []int }
	total   struct{ Cents int }
)

var (
	sendWelcome = waybill.Define[welcome]("welcome.send", waybill.KindOptions{Queue: "mail", Retry: waybill.Fixed(0)})
	sumOrder    = waybill.DefineResult[order, total]("order.sum", waybill.KindOptions{})
)

// private gives a client of a Redis of its own, and what ends both.
func private() (client *waybill.Client, end func()) {
	srv, err := devredis.Start(context.Background(), devredis.Options{})
	if err != nil {
		panic(err)
	}
	o, err := redis.ParseURL(srv.URL())
	if err != nil {
		panic(err)
	}
	rdb := redis.NewClient(o)
	if client, err = waybill.NewClient(rdb, waybill.ClientOptions{}); err != nil {
		panic(err)
	}
	return client, func() {
		_ = client.Close()
		_ = rdb.Close()
		_ = srv.Close()
	}
}

// serve runs a worker until stop.
func serve(client *waybill.Client, w *waybill.Worker) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		queues := w.Queues()
		cancel()
		for _, name := range queues { // rings the bell: else the last listen takes up to a second
			_ = client.Queue(name).Resume(context.Background())
		}
		if err := <-ended; err != nil {
			fmt.Println("worker:", err)
		}
	}
}

// A kind is declared once, for producer, worker and test.
func ExampleDefine() {
	type receipt struct{ Order int }
	sendReceipt := waybill.Define[receipt]("receipt.send", waybill.KindOptions{
		Queue: "mail", MaxFailures: 10, Timeout: 30 * time.Second, Retention: time.Hour,
	})
	r := sendReceipt.Request(receipt{Order: 17})
	fmt.Println(r.Kind, r.Queue, string(r.Payload))
	// Output: receipt.send mail {"Order":17}
}

func ExampleKind_Enqueue() {
	client, end := private()
	defer end()
	ctx := context.Background()

	for _, user := range []int{7, 7, 8} { // one ID is one job
		sent, err := sendWelcome.Enqueue(ctx, client, welcome{user}, waybill.ID("signup-1"), waybill.After(time.Minute))
		fmt.Println(sent.Outcome, errors.Is(err, waybill.ErrConflict))
	}
	// Output:
	// accepted false
	// duplicate false
	// conflict true
}

func ExampleKind_On() {
	client, end := private()
	defer end()

	sent, err := sendWelcome.On("tenant-7").Enqueue(context.Background(), client, welcome{User: 7})
	fmt.Println(sent.Queue, err)
	// Output: tenant-7 <nil>
}

func ExampleClient_EnqueueMany() {
	client, end := private()
	defer end()

	sent, err := client.EnqueueMany(context.Background(), []waybill.Request{
		sendWelcome.Request(welcome{User: 7}, waybill.ID("user-7/welcome")),
		sendWelcome.Request(welcome{User: 8}, waybill.ID("user-8/welcome"), waybill.Priority(5000)),
		sumOrder.Request(order{Cents: []int{900}}, waybill.ID("order-17/sum")),
	})
	for _, s := range sent {
		fmt.Println(s.ID, s.Outcome)
	}
	fmt.Println(err)
	// Output:
	// user-7/welcome accepted
	// user-8/welcome invalid
	// order-17/sum accepted
	// 1 of 3 jobs were not taken; first: priority: is 5000: from -1000 to 1000
}

func ExampleResultKind_Call() {
	client, end := private()
	defer end()
	worker, _ := waybill.NewWorker(client, waybill.WorkerOptions{})
	sumOrder.Handle(worker, func(_ context.Context, job *waybill.Job[order]) (total, error) {
		var t total
		for _, c := range job.Args.Cents {
			t.Cents += c
		}
		return t, nil
	})
	defer serve(client, worker)()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	t, err := sumOrder.Call(ctx, client, order{Cents: []int{900, 350}})
	fmt.Println(t.Cents, err)
	// Output: 1250 <nil>
}

func ExampleKind_Wait() {
	client, end := private()
	defer end()
	ctx := context.Background()
	worker, _ := waybill.NewWorker(client, waybill.WorkerOptions{})
	sendWelcome.Handle(worker, func(context.Context, *waybill.Job[welcome]) error {
		return waybill.Dead(errors.New("no such user"))
	})
	defer serve(client, worker)()

	sent, _ := sendWelcome.Enqueue(ctx, client, welcome{User: 7})
	err := sendWelcome.Wait(ctx, client, sent.ID)
	var ended *waybill.EndedError
	if errors.As(err, &ended) {
		fmt.Println(ended.State, ended.LastError, errors.Is(err, waybill.ErrDead))
	}
	// Output: dead no such user true
}

// Middleware may change requests, here by a header for each; see EnqueueMiddleware.
func ExampleClient_Use() {
	client, end := private()
	defer end()
	ctx := context.Background()
	client.Use(func(next waybill.Enqueuer) waybill.Enqueuer {
		return func(ctx context.Context, requests []waybill.Request) []waybill.Enqueued {
			for i := range requests {
				waybill.Header("tenant", "blue")(&requests[i])
			}
			return next(ctx, requests)
		}
	})

	sent, _ := sendWelcome.Enqueue(ctx, client, welcome{User: 7})
	info, err := client.Queue(sent.Queue).Get(ctx, sent.ID)
	fmt.Println(info.Headers["tenant"], err)
	// Output: blue <nil>
}

// A full queue may let its producers wait, or keep jobs aside.
func ExampleOnFull() {
	client, end := private()
	defer end()
	ctx := context.Background()
	none := int64(0)
	_ = client.Queue("mail").Set(ctx, waybill.QueueSettings{Capacity: &none})

	for _, p := range []waybill.FullPolicy{waybill.FullReject, waybill.FullPolicy(10 * time.Millisecond), waybill.FullSpill} {
		sent, err := sendWelcome.Enqueue(ctx, client, welcome{User: 7}, waybill.OnFull(p))
		fmt.Println(sent.Outcome, errors.Is(err, waybill.ErrFull))
	}
	// Output:
	// rejected true
	// rejected true
	// spilled false
}

func ExampleQueue_Jobs() {
	client, end := private()
	defer end()
	ctx := context.Background()
	_, _ = sendWelcome.Enqueue(ctx, client, welcome{User: 7}, waybill.ID("user-7"))
	_, _ = sendWelcome.Enqueue(ctx, client, welcome{User: 8}, waybill.ID("user-8"), waybill.After(time.Hour))

	for job, err := range client.Queue("mail").Jobs(ctx, waybill.Filter{Kind: sendWelcome.Name()}) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(job.ID, job.State)
	}
	// Output:
	// user-7 ready
	// user-8 scheduled
}

func ExampleQueue_Requeue() {
	client, end := private()
	defer end()
	ctx := context.Background()
	mended := false
	worker, _ := waybill.NewWorker(client, waybill.WorkerOptions{})
	sendWelcome.Handle(worker, func(context.Context, *waybill.Job[welcome]) error {
		if !mended {
			return waybill.Dead(errors.New("no mail server"))
		}
		return nil
	})
	defer serve(client, worker)()

	sent, _ := sendWelcome.Enqueue(ctx, client, welcome{User: 7}, waybill.ID("user-7"))
	fmt.Println(sendWelcome.Wait(ctx, client, sent.ID))
	mended = true
	_ = client.Queue(sent.Queue).Requeue(ctx, sent.ID)
	fmt.Println(sendWelcome.Wait(ctx, client, sent.ID))
	// Output:
	// job user-7 in queue mail ended dead: no mail server
	// <nil>
}
