package waybilltest

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

// Options of an Env; the zero value is that of New.
type Options struct {
	// Worker has other defaults here: Concurrency 1, so that jobs run one after another; Grace 1 s; PollInterval 10 ms.
	Worker waybill.WorkerOptions
	// InMemory asks for the stand-in in memory also where there is a real server.
	InMemory bool
}

// Env is a client and a worker on a Redis under a prefix of their own. WorkAll and Advance belong to the goroutine of
// the test; all else is safe for concurrent use.
type Env struct {
	// Client is for the code under test. What it enqueues is recorded.
	Client *waybill.Client
	// Worker is to be given handlers before the first WorkAll, which starts it.
	Worker *waybill.Worker
	// Redis is what both speak to; it is shared with other tests.
	Redis redis.UniversalClient

	t        testing.TB
	sent     sent
	topics   topics
	attempts attempts
	ended    chan error // of the worker's Run; nil before the first WorkAll
	stop     context.CancelFunc
	clock    clock
}

// New makes an Env that ends with the test. It fails the test where no Redis can be had.
func New(t testing.TB) *Env {
	t.Helper()
	return NewWith(t, Options{})
}

// NewWith is New with options.
func NewWith(t testing.TB, o Options) *Env {
	t.Helper()
	e := &Env{t: t, Redis: connect(t, o.InMemory)}
	prefix := "test-" + rand.Text()[:16]
	t.Cleanup(func() { e.clean(prefix) })
	var err error
	if e.Client, err = waybill.NewClient(e.Redis, waybill.ClientOptions{Prefix: prefix}); err != nil {
		t.Fatalf("waybilltest: %v", err)
	}
	e.Client.Use(e.hold, e.sent.record)
	if e.Worker, err = waybill.NewWorker(e.Client, e.workerOptions(o.Worker)); err != nil {
		t.Fatalf("waybilltest: %v", err)
	}
	return e
}

func (e *Env) workerOptions(o waybill.WorkerOptions) waybill.WorkerOptions {
	if o.Concurrency == 0 {
		o.Concurrency = 1
	}
	if o.Grace == 0 {
		o.Grace = time.Second
	}
	if o.PollInterval == 0 {
		o.PollInterval = 10 * time.Millisecond
	}
	o.Observe = e.attempts.observer(o.Observe)
	return o
}

// cleanTime is how long it may take to remove what a test leaves.
const cleanTime = 10 * time.Second

// clean ends worker and client, and removes what stands under the prefix.
func (e *Env) clean(prefix string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.t.Context()), cleanTime)
	defer cancel()
	if e.stop != nil {
		e.end(ctx)
	}
	if e.Client != nil {
		_ = e.Client.Close() // always nil
	}
	all := e.Redis.Scan(ctx, 0, prefix+":*", 1000).Iterator()
	for all.Next(ctx) {
		e.Redis.Unlink(ctx, all.Val())
	}
	if err := all.Err(); err != nil {
		e.t.Logf("waybilltest: remove keys %s:*: %v", prefix, err)
	}
}

// end ends the worker. Its last listen would take up to a second, but a pause rings the bell.
func (e *Env) end(ctx context.Context) {
	queues := e.Worker.Queues()
	e.stop()
	for _, name := range queues {
		if e.Client.Queue(name).Pause(ctx, pausedBy) != nil {
			break // it is away, and the worker knows by itself
		}
	}
	if err := <-e.ended; err != nil {
		e.t.Errorf("waybilltest: worker: %v", err)
	}
}

// queues are those of the worker, and all that this Env's client has heard of.
func (e *Env) queues(ctx context.Context) []string {
	e.t.Helper()
	names, err := e.Client.Queues(ctx)
	if err != nil {
		e.t.Fatalf("waybilltest: list the queues: %v", err)
	}
	return distinct(names, e.Worker.Queues(), e.sent.queues())
}
