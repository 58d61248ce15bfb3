package waybill

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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
	DefaultLease       = store.DefaultLease // 30 s
	DefaultGrace       = 25 * time.Second   // below the 30 s that most supervisors give
)

// AnyKind as a kind's name stands for every kind that has no handler of its own.
const AnyKind = "*"

// Bounds of settings.
const (
	maxConcurrency = 100_000
	maxWeight      = 1000
	minPoll        = 10 * time.Millisecond
	maxPoll        = time.Hour
)

// QueueOptions of one queue of a worker.
type QueueOptions struct {
	Name        string // "" = "default"
	Concurrency int    // attempts at a time in this queue; 0 = WorkerOptions.Concurrency, or 10 where that is 0
	Weight      int    // share of the slots where several queues want some, from 1 to 1000; 0 = 1
	// Subscribe makes the subscription that Name is ("topic/subscription") where it does not exist, when the worker starts:
	// at this place of the topic's stream. "" = it is not made. See topic.Place.
	Subscribe string
}

// WorkerOptions of a Worker; the zero value works off the queues of the kinds it handles.
type WorkerOptions struct {
	Queues []QueueOptions // nil = the queues of the handled kinds

	// Concurrency is how many attempts run at a time, over all queues; 0 = the sum of the queues'. Beside it stand the
	// bounds of each queue and, over all queues, of each kind.
	Concurrency int
	// StrictPriority serves the queues in the order given: a later one gets slots only where the earlier ones
	// want none. Else slots that several queues want are shared by weight.
	StrictPriority bool
	// PollInterval is the longest time between two looks at a queue with a free slot; 0 = 1 s, or 10 ms a queue where
	// that is more, so that an idle worker makes at most 100 looks a second. From 10 ms to 1 h. Speed rests on the
	// bell, which rings when work comes; this bounds how late work is seen where a ring was lost. It is not the time
	// for which jobs wait that are due later: their times are known.
	PollInterval time.Duration

	// Lease is how long a job stays this worker's without a sign of life; it is renewed at a third. 0 = as each queue's
	// settings say when its work begins, 30 s where they say nothing; from 100 ms to 1 h.
	Lease   time.Duration
	Grace   time.Duration // from the begin of a stop until handlers are cancelled; 0 = 25 s
	Retry   RetryPolicy   // of kinds without their own; nil = Exponential(time.Second, time.Hour)
	Logger  *slog.Logger  // nil = silent
	Observe func(Event)   // told of what happens; nil = nobody. See Event
}

// Worker runs jobs. Make it with NewWorker, give it handlers, then call Run once. It is safe for
// concurrent use once it runs.
type Worker struct {
	client *Client
	o      WorkerOptions
	log    *slog.Logger
	team   *runner.Team

	mu         sync.Mutex
	started    bool
	ended      bool // no queue begins any more
	quiet      bool
	kinds      map[string]handled
	within     map[string]handled // by queue: those that have a handler of their own, for every kind
	own        []QueueOptions     // of them
	middleware []Middleware
	served     map[string]*served
	launch     func(*served) // begins to work a queue off, while Run goes on
}

// handled is one kind's handler, wrapped, with its policy.
type handled struct {
	o      KindOptions
	handle Handler
}

// NewWorker makes a worker on a client. It sends nothing. Errors: ErrInvalid.
func NewWorker(c *Client, o WorkerOptions) (*Worker, error) {
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
	o.Queues = slices.Clone(o.Queues)
	return &Worker{client: c, o: o, log: o.Logger, kinds: map[string]handled{}, within: map[string]handled{}, served: map[string]*served{}}, nil
}

func (o WorkerOptions) check() error {
	switch {
	case o.Lease != 0 && (o.Lease < store.MinLease || o.Lease > store.MaxLease):
		return invalid("lease", "is %s: from %s to %s, or 0", o.Lease, store.MinLease, store.MaxLease)
	case o.Concurrency < 0 || o.Concurrency > maxConcurrency:
		return invalid("concurrency", "is %d: from 1 to %d, or 0", o.Concurrency, maxConcurrency)
	case o.PollInterval != 0 && (o.PollInterval < minPoll || o.PollInterval > maxPoll):
		return invalid("poll interval", "is %s: from %s to %s, or 0", o.PollInterval, minPoll, maxPoll)
	case o.Grace < 0:
		return invalid("grace", "is %s: it can't be negative", o.Grace)
	}
	seen := map[string]bool{}
	for _, q := range o.Queues {
		if err := q.check(); err != nil {
			return err
		}
		if name := orDefault(q.Name); seen[name] {
			return invalid("queues", "name %s twice", name)
		}
		seen[orDefault(q.Name)] = true
	}
	return nil
}

func (o QueueOptions) check() error {
	name := orDefault(o.Name)
	if err := store.CheckQueue(name); err != nil {
		return err
	}
	if o.Concurrency < 0 || o.Concurrency > maxConcurrency {
		return invalid("concurrency of queue "+name, "is %d: from 1 to %d, or 0", o.Concurrency, maxConcurrency)
	}
	if o.Weight < 0 || o.Weight > maxWeight {
		return invalid("weight of queue "+name, "is %d: from 1 to %d, or 0", o.Weight, maxWeight)
	}
	if o.Subscribe == "" {
		return nil
	}
	if !strings.Contains(name, "/") {
		return invalid("subscribe", "is given for queue %s: a subscription is TOPIC/NAME", name)
	}
	_, err := store.CheckPlace("subscribe", o.Subscribe)
	return err
}

func invalid(field, format string, args ...any) error {
	return &record.InputError{Field: field, Why: fmt.Sprintf(format, args...)}
}

// Use wraps all handlers, whenever they are registered, the first outermost; what a handler has of its own lies within.
// It panics where the worker runs.
func (w *Worker) Use(m ...Middleware) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		panic("waybill: middleware added after Run")
	}
	w.middleware = append(w.middleware, m...)
}

// HandleFunc runs jobs of a kind by name, untyped: for tools. AnyKind stands for every kind without
// a handler of its own, and has no Concurrency. It panics where the kind has a handler, or the worker runs.
func (w *Worker) HandleFunc(kind string, o KindOptions, h Handler, m ...Middleware) {
	w.register(kind, o, h, m)
}

// HandleQueue runs all jobs of one queue, or of a subscription, with h, whatever their kind and whatever handlers their kinds
// have elsewhere; and the worker works that queue off beside those of WorkerOptions.Queues, or of the kinds. Where it is
// among them, what they say of it counts, and q where they say nothing. Of o the policy counts: MaxFailures, Retry, Timeout,
// and Retention for jobs that say nothing. The Concurrency of a kind that the worker handles besides bounds its jobs here
// too. It panics on a bad name or bad options, where the queue has a handler, or the worker runs.
func (w *Worker) HandleQueue(q QueueOptions, o KindOptions, h Handler, m ...Middleware) {
	q.Name = orDefault(q.Name)
	if err := cmp.Or(q.check(), o.checkAs("x")); err != nil {
		panic(fmt.Sprintf("waybill: handler for queue %s: %v", q.Name, err))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		panic("waybill: handler for queue " + q.Name + " registered after Run")
	}
	if _, ok := w.within[q.Name]; ok {
		panic("waybill: two handlers for queue " + q.Name)
	}
	w.within[q.Name] = handled{w.defaults(o), wrapped(h, m)}
	w.own = append(w.own, q)
}

// defaults are the options of a handler with what the worker says where they say nothing.
func (w *Worker) defaults(o KindOptions) KindOptions {
	if o.Retry == nil {
		o.Retry = w.o.Retry
	}
	if o.MaxFailures == 0 {
		o.MaxFailures = DefaultMaxFailures
	}
	return o
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
	if o.Concurrency < 0 || o.Concurrency > 0 && kind == AnyKind {
		panic(fmt.Sprintf("waybill: handler for kind %s: concurrency is %d: at least 0, and 0 for every kind", kind, o.Concurrency))
	}
	w.kinds[kind] = handled{w.defaults(o), wrapped(h, m)}
}

// wrapped is a handler within its middleware, the first outermost.
func wrapped(h Handler, m []Middleware) Handler {
	for _, wrap := range slices.Backward(m) {
		h = wrap(h)
	}
	return h
}

func (w *Worker) of(queue, kind string) handled {
	if h, ok := w.within[queue]; ok {
		return h
	}
	if h, ok := w.kinds[kind]; ok {
		return h
	}
	return w.kinds[AnyKind]
}

// policy is that of a queue's jobs. Retention goes with each job that a kind enqueues; where all jobs of a queue have one
// handler it says what their producers can't.
func (w *Worker) policy(queue string) func(kind string) runner.Policy {
	return func(kind string) runner.Policy {
		o := w.of(queue, kind).o
		p := runner.Policy{MaxFailures: o.MaxFailures, Retry: o.Retry, Timeout: o.Timeout}
		if _, ok := w.within[queue]; ok {
			p.Retention = o.Retention
		}
		return p
	}
}

// attempt is the handler's view of a delivery.
func (w *Worker) attempt(queue string, a *runner.Attempt) *Attempt {
	most := a.Rec.MaxFailures
	if most == 0 {
		most = w.of(queue, a.Rec.Kind).o.MaxFailures
	}
	scope := cmp.Or(a.Rec.Scope, queue)
	return &Attempt{
		ID: a.ID, Queue: queue, Kind: a.Rec.Kind, Token: a.Token, Payload: a.Rec.Payload, Headers: a.Rec.Headers,
		Number: a.Delivery.Attempt, Failures: a.Failures, Crashes: a.Crashes, MaxFailures: most,
		Priority: a.Rec.Head.Priority, Version: a.Rec.Version, EnqueuedAt: a.Rec.EnqueuedAt, DueAt: a.Rec.DueAt(),
		BornAt: a.Rec.BornAt(), ClaimedAt: a.ClaimedAt(), Scope: scope,
		Event: eventOf(a.ID, a.Rec.Event, scope), Replay: a.Rec.Replay, again: a.Rec.Again, inner: a,
	}
}
