package waybill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/runner"
	"github.com/waybillhq/waybill/internal/store"
)

// Defaults of workers.
const (
	DefaultMaxFailures = 25
	DefaultConcurrency = 10
	DefaultLease       = 30 * time.Second
	DefaultGrace       = 25 * time.Second // below the 30 s that most supervisors give
)

// AnyKind as a kind's name stands for every kind that has no handler of its own.
const AnyKind = "*"

// poll is the longest time between two claims while a slot is free. Speed rests on the bell,
// liveness on this.
const poll = time.Second

// QueueOptions of one queue of a worker.
type QueueOptions struct {
	Name        string // "" = "default"
	Concurrency int    // attempts at a time; 0 = WorkerOptions.Concurrency
}

// WorkerOptions of a Worker; the zero value works off the queues of the kinds it handles.
type WorkerOptions struct {
	Queues      []QueueOptions // nil = the queues of the handled kinds
	Concurrency int            // attempts at a time in each queue; 0 = 10
	Lease       time.Duration  // renewed at a third; 0 = 30 s; from 100 ms to 1 h
	Grace       time.Duration  // from the begin of a stop until handlers are cancelled; 0 = 25 s
	Retry       RetryPolicy    // of kinds without their own; nil = Exponential(time.Second, time.Hour)
	Logger      *slog.Logger   // nil = silent
}

// Worker runs jobs. Make it with NewWorker, give it handlers, then call Run once. It is safe for
// concurrent use once it runs.
type Worker struct {
	client     *Client
	o          WorkerOptions
	log        *slog.Logger
	mu         sync.Mutex
	started    bool
	kinds      map[string]handled
	middleware []Middleware
}

// handled is one kind's handler, wrapped, with its policy.
type handled struct {
	o      KindOptions
	handle Handler
}

// NewWorker makes a worker on a client. It sends nothing. Errors: ErrInvalid.
func NewWorker(c *Client, o WorkerOptions) (*Worker, error) {
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	if o.Concurrency == 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Retry == nil {
		o.Retry = Exponential(time.Second, time.Hour)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return &Worker{client: c, o: o, log: o.Logger, kinds: map[string]handled{}}, nil
}

func (o WorkerOptions) check() error {
	invalid := func(field, format string, args ...any) error {
		return &record.InputError{Field: field, Why: fmt.Sprintf(format, args...)}
	}
	switch {
	case o.Lease < 100*time.Millisecond || o.Lease > store.MaxLease:
		return invalid("lease", "is %s: from 100ms to %s", o.Lease, store.MaxLease)
	case o.Concurrency < 1 || o.Concurrency > 100_000:
		return invalid("concurrency", "is %d: from 1 to 100000", o.Concurrency)
	case o.Grace < 0:
		return invalid("grace", "is %s: it can't be negative", o.Grace)
	}
	for _, q := range o.Queues {
		if err := store.CheckQueue(orDefault(q.Name)); err != nil {
			return err
		}
		if q.Concurrency < 0 || q.Concurrency > 100_000 {
			return invalid("concurrency of queue "+orDefault(q.Name), "is %d: from 1 to 100000", q.Concurrency)
		}
	}
	return nil
}

// Use wraps the handlers registered after it, the first outermost.
func (w *Worker) Use(m ...Middleware) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.middleware = append(w.middleware, m...)
}

// HandleFunc runs jobs of a kind by name, untyped: for tools. AnyKind stands for every kind without
// a handler of its own. It panics where the kind has a handler, or the worker runs.
func (w *Worker) HandleFunc(kind string, o KindOptions, h Handler, m ...Middleware) {
	w.register(kind, o, h, m)
}

func (w *Worker) register(kind string, o KindOptions, h Handler, m []Middleware) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		panic("waybill: handler for kind " + kind + " registered after Run")
	}
	if _, ok := w.kinds[kind]; ok {
		panic("waybill: two handlers for kind " + kind)
	}
	if o.Retry == nil {
		o.Retry = w.o.Retry
	}
	if o.MaxFailures == 0 {
		o.MaxFailures = DefaultMaxFailures
	}
	for _, wrap := range slices.Backward(slices.Concat(w.middleware, m)) {
		h = wrap(h)
	}
	w.kinds[kind] = handled{o, h}
}

// Run works until ctx ends; then it claims nothing more, waits for the handlers, cancels those that
// outlast the grace, and settles or releases every job. It returns nil where that went well.
// Redis being away is no error: the worker tries again until ctx ends. Errors: ErrInvalid where no kind
// is handled, or a kind's queue is not among those of the options; Run called twice is an error too.
func (w *Worker) Run(ctx context.Context) error {
	runners, err := w.start()
	if err != nil {
		return err
	}
	errs := make([]error, len(runners))
	var all sync.WaitGroup
	for i, r := range runners {
		all.Go(func() { errs[i] = r.Run(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (w *Worker) start() ([]*runner.Runner, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		return nil, errors.New("waybill: Run called twice")
	}
	if len(w.kinds) == 0 {
		return nil, &record.InputError{Field: "handlers", Why: "are none: register at least one kind"}
	}
	if err := w.checkQueues(); err != nil {
		return nil, err
	}
	w.started = true
	gate := &runner.Gate{}
	var out []*runner.Runner
	for _, q := range w.queues() {
		known, err := w.client.queue(orDefault(q.Name))
		if err != nil {
			return nil, err
		}
		if q.Concurrency == 0 {
			q.Concurrency = w.o.Concurrency
		}
		out = append(out, w.runner(known, q.Concurrency, gate))
	}
	return out, nil
}

// checkQueues refuses a kind whose own queue this worker does not work off: its jobs would wait unseen.
func (w *Worker) checkQueues() error {
	worked := map[string]bool{}
	for _, q := range w.o.Queues {
		worked[orDefault(q.Name)] = true
	}
	for name, h := range w.kinds {
		if h.o.Queue != "" && len(worked) > 0 && !worked[h.o.Queue] {
			return &record.InputError{
				Field: "queues", Why: fmt.Sprintf("lack %s, the queue of kind %s: add it, or handle the kind On another queue", h.o.Queue, name),
			}
		}
	}
	return nil
}

// queues are those of the options, or of the handled kinds.
func (w *Worker) queues() []QueueOptions {
	if len(w.o.Queues) > 0 {
		return w.o.Queues
	}
	names := map[string]bool{}
	for _, h := range w.kinds {
		names[orDefault(h.o.Queue)] = true
	}
	var out []QueueOptions
	for name := range names {
		out = append(out, QueueOptions{Name: name})
	}
	return out
}

func (w *Worker) runner(q *knownQueue, concurrency int, gate *runner.Gate) *runner.Runner {
	var kinds []string
	if _, every := w.kinds[AnyKind]; !every {
		for name := range w.kinds {
			kinds = append(kinds, name)
		}
		slices.Sort(kinds)
	}
	return runner.New(runner.Options{
		Name: q.Name(), Queue: q.Queue, Concurrency: concurrency, Lease: w.o.Lease, Grace: w.o.Grace, Poll: poll,
		Kinds: kinds, Policy: w.policy, Suspects: gate, Log: w.log,
		Handle: func(ctx context.Context, a *runner.Attempt) ([]byte, error) {
			return w.of(a.Rec.Kind).handle(ctx, w.attempt(q.Name(), a))
		},
	})
}

func (w *Worker) of(kind string) handled {
	if h, ok := w.kinds[kind]; ok {
		return h
	}
	return w.kinds[AnyKind]
}

func (w *Worker) policy(kind string) runner.Policy {
	o := w.of(kind).o
	return runner.Policy{MaxFailures: o.MaxFailures, Retry: o.Retry, Timeout: o.Timeout}
}

// attempt is the handler's view of a delivery.
func (w *Worker) attempt(queue string, a *runner.Attempt) *Attempt {
	most := a.Rec.MaxFailures
	if most == 0 {
		most = w.of(a.Rec.Kind).o.MaxFailures
	}
	return &Attempt{
		ID: a.ID, Queue: queue, Kind: a.Rec.Kind, Token: a.Token, Payload: a.Rec.Payload, Headers: a.Rec.Headers,
		Number: a.Delivery.Attempt, Failures: a.Failures, Crashes: a.Crashes, MaxFailures: most,
		Priority: a.Rec.Head.Priority, Version: a.Rec.Version, EnqueuedAt: a.Rec.EnqueuedAt, DueAt: a.Rec.DueAt(),
		check: a.Check, stopping: a.Stopping(),
	}
}
