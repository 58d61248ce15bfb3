package waybill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/waybillhq/waybill/internal/codec"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/runner"
)

// KindOptions of a kind; the zero value is ready for use. Queue, MaxFailures, Retention and Version go with each job that
// the kind enqueues; a job sent by hand or from the command line has what it says itself. Retry, Timeout and
// Concurrency are of the worker that handles the kind, as is MaxFailures for jobs that say nothing.
type KindOptions struct {
	Queue       string        // "" = "default"
	MaxFailures int           // the MaxFailures-th failure kills; 0 = 25, Unlimited = none does
	Retry       RetryPolicy   // nil = Exponential(time.Second, time.Hour)
	Timeout     time.Duration // of one attempt; 0 = none
	Retention   time.Duration // of an ended job and its result; 0 = none
	Concurrency int           // attempts at a time in one worker, over all its queues; 0 = no bound of its own
	Version     int           // of the payload's shape; see AcceptOld
}

// Keys of log attributes: the same words as in JSON.
const (
	keyJob     = "job"
	keyKind    = "kind"
	keyQueue   = "queue"
	keyCursor  = "cursor"
	keyError   = "error"
	keyVersion = "version"
)

// kind is what Kind and ResultKind share.
type kind[In any] struct {
	name  string
	o     KindOptions
	older *shapes[In] // shared by the copies that On makes
}

// Kind declares a job whose arguments are In: once, for producer, worker and test. It is
// safe for concurrent use.
type Kind[In any] struct{ kind[In] }

// ResultKind declares a job whose arguments are In and whose result is Out.
type ResultKind[In, Out any] struct{ kind[In] }

// Identified arguments name their job: the ID comes from the cause. An ID option beats it.
type Identified interface{ JobID() string }

// Typed is either sort of kind, for functions over both.
type Typed[In any] interface {
	Name() string
	Request(args In, o ...EnqueueOption) Request
}

// Define declares a kind of job without result. Arguments are encoded as JSON; []byte and
// json.RawMessage are sent as they are. It panics on a bad name or bad options: both are mistakes
// of the program.
func Define[In any](name string, o KindOptions) *Kind[In] {
	return &Kind[In]{newKind[In](name, o)}
}

// DefineResult declares a kind of job with a result. It panics as Define does.
func DefineResult[In, Out any](name string, o KindOptions) *ResultKind[In, Out] {
	return &ResultKind[In, Out]{newKind[In](name, o)}
}

func newKind[In any](name string, o KindOptions) kind[In] {
	if o.Queue == "" {
		o.Queue = DefaultQueue
	}
	if o.Retry == nil {
		o.Retry = Exponential(time.Second, time.Hour)
	}
	k := kind[In]{name: name, o: o, older: &shapes[In]{}}
	if err := o.checkAs(name); err != nil {
		panic(fmt.Sprintf("waybill: define kind %q: %v", name, err))
	}
	return k
}

// checkAs tells the first limit that the options of a kind of this name break.
func (o KindOptions) checkAs(name string) error {
	sample := Request{Queue: orDefault(o.Queue), Kind: name, ID: "x", MaxFailures: o.MaxFailures, Retention: o.Retention, Version: o.Version}
	switch err := sample.check(record.MaxPayload); {
	case err != nil:
		return err
	case o.Concurrency < 0:
		return invalid("concurrency", "is %d: it can't be negative", o.Concurrency)
	case o.Timeout < 0:
		return invalid("timeout", "is %s: it can't be negative", o.Timeout)
	}
	return nil
}

// Name of the kind.
func (k *kind[In]) Name() string { return k.name }

// identify asks the arguments for their ID, whether the method is of the value or of a pointer to it.
func identify[In any](args *In) (string, bool) {
	if named, ok := any(*args).(Identified); ok {
		return named.JobID(), true
	}
	if named, ok := any(args).(Identified); ok {
		return named.JobID(), true
	}
	return "", false
}

// Queue is the kind's queue, for looking at its jobs and steering them: Get, Jobs, Cancel, Requeue and others.
func (k *kind[In]) Queue(c *Client) *Queue { return c.Queue(k.o.Queue) }

// Request makes a job that is not yet sent. A failed encoding is told when it is sent, as ErrInvalid.
func (k *kind[In]) Request(args In, o ...EnqueueOption) Request {
	payload, err := codec.Encode(args)
	r := Request{
		Queue: k.o.Queue, Kind: k.name, Payload: payload, MaxFailures: k.o.MaxFailures,
		Retention: k.o.Retention, Version: k.o.Version, err: err,
	}
	if id, ok := identify(&args); ok {
		r.ID, r.named = id, true
	}
	for _, option := range o {
		option(&r)
	}
	return r
}

// Enqueue sends one job. Errors: ErrInvalid, ErrConflict, ErrFull, ErrUnavailable, ErrUnknown.
func (k *kind[In]) Enqueue(ctx context.Context, c *Client, args In, o ...EnqueueOption) (Enqueued, error) {
	return c.Enqueue(ctx, k.Request(args, o...))
}

// EnqueueMany sends many jobs; see Client.EnqueueMany. The options are for all of them, so an ID among
// them names one job only: give each its own by making the arguments Identified, or send
// Requests made with Request(args, ID(…)) by Client.EnqueueMany.
func (k *kind[In]) EnqueueMany(ctx context.Context, c *Client, args []In, o ...EnqueueOption) ([]Enqueued, error) {
	requests := make([]Request, len(args))
	for i, a := range args {
		requests[i] = k.Request(a, o...)
	}
	return c.EnqueueMany(ctx, requests)
}

// On is the same kind in another queue. It panics on a bad name, as Define does.
func (k *Kind[In]) On(queue string) *Kind[In] {
	o := k.o
	o.Queue = queue
	on := Define[In](k.name, o)
	on.older = k.older
	return on
}

// On is the same kind in another queue. It panics on a bad name, as Define does.
func (k *ResultKind[In, Out]) On(queue string) *ResultKind[In, Out] {
	o := k.o
	o.Queue = queue
	on := DefineResult[In, Out](k.name, o)
	on.older = k.older
	return on
}

// Handle makes w run jobs of this kind with h, wrapped by m, the first outermost. It panics where
// the worker already has a handler for the kind, or runs.
func (k *Kind[In]) Handle(w *Worker, h func(context.Context, *Job[In]) error, m ...Middleware) {
	k.handle(w, func(ctx context.Context, job *Job[In]) ([]byte, error) { return nil, h(ctx, job) }, m)
}

// Handle makes w run jobs of this kind with h; as Kind.Handle. The result is encoded as JSON;
// []byte and json.RawMessage are kept as they are.
func (k *ResultKind[In, Out]) Handle(w *Worker, h func(context.Context, *Job[In]) (Out, error), m ...Middleware) {
	k.handle(w, encoded(h), m)
}

// encoded is a handler whose result is encoded.
func encoded[In, Out any](h func(context.Context, *Job[In]) (Out, error)) func(context.Context, *Job[In]) ([]byte, error) {
	return func(ctx context.Context, job *Job[In]) ([]byte, error) {
		out, err := h(ctx, job)
		if err != nil {
			return nil, err
		}
		result, err := codec.Encode(out)
		if err == nil && result == nil {
			result = []byte{} // nil bytes are a result, an empty one
		}
		return result, err
	}
}

// HandleQueue makes w run all jobs of one queue, or of a subscription, as jobs of this kind: see Worker.HandleQueue.
func (k *Kind[In]) HandleQueue(w *Worker, q QueueOptions, o KindOptions, h func(context.Context, *Job[In]) error, m ...Middleware) {
	w.HandleQueue(q, o, k.typed(w, func(ctx context.Context, job *Job[In]) ([]byte, error) { return nil, h(ctx, job) }), m...)
}

// HandleQueueResult is Kind.HandleQueue for a handler with a result, which is kept for o.Retention, or for that of the job.
func HandleQueueResult[In, Out any](
	k *Kind[In], w *Worker, q QueueOptions, o KindOptions, h func(context.Context, *Job[In]) (Out, error), m ...Middleware,
) {
	w.HandleQueue(q, o, k.typed(w, encoded(h)), m...)
}

func (k *kind[In]) handle(w *Worker, h func(context.Context, *Job[In]) ([]byte, error), m []Middleware) {
	w.register(k.name, k.o, k.typed(w, h), m)
}

// typed is the handler with its arguments decoded.
func (k *kind[In]) typed(w *Worker, h func(context.Context, *Job[In]) ([]byte, error)) Handler {
	return func(ctx context.Context, a *Attempt) ([]byte, error) {
		args, err := k.decode(a.Version, a.Payload)
		var newer *newerVersion
		if errors.As(err, &newer) {
			w.log.Warn("job of a newer payload version is put off: update this worker", slog.String(keyJob, a.ID),
				slog.String(keyKind, k.name), slog.Int(keyVersion, newer.version))
			return nil, &runner.Steer{End: runner.Snooze, Delay: newerTime, Err: err}
		}
		if err != nil {
			return nil, Dead(fmt.Errorf("decode payload of kind %s: %w", k.name, err))
		}
		return h(ctx, &Job[In]{Attempt: a, Args: args})
	}
}
