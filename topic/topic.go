package topic

import (
	"context"
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// Topic declares events of type E: once, for publishers, subscribers and tests. It is safe for concurrent use.
type Topic[E any] struct {
	name string
	kind *waybill.Kind[E]
}

// Options of a topic; the zero value is ready for use.
type Options struct {
	Version int // of the event's shape: a subscriber that knows only lower ones puts the event off
}

// Define declares a topic. Events are encoded as JSON; []byte and json.RawMessage are sent as they are. In a subscription the
// kind of their jobs is the topic's name. It panics on a bad name or bad options: both are mistakes of the program.
func Define[E any](name string, o ...Options) *Topic[E] {
	if err := store.CheckTopic(name); err != nil {
		panic(fmt.Sprintf("waybill: define topic %q: %v", name, err))
	}
	if len(o) > 1 {
		panic(fmt.Sprintf("waybill: define topic %q: options are given %d times", name, len(o)))
	}
	var k waybill.KindOptions
	for _, one := range o {
		k.Version = one.Version
	}
	return &Topic[E]{name, waybill.Define[E](name, k)}
}

// Name of the topic.
func (t *Topic[E]) Name() string { return t.name }

// Kind is the kind of the events' jobs, for waybill.AcceptOld. Nothing is to be enqueued by it.
func (t *Topic[E]) Kind() *waybill.Kind[E] { return t.kind }

// Request makes an event that is not yet sent: for outbox.Publish and for Client.EnqueueMany, which take events and jobs
// together. Of the options ID, Header and OnFull are for events; the others are refused when it is sent, as ErrInvalid: what
// happens to its jobs is for the subscriptions to say. An event whose type is waybill.Identified has its ID from there.
func (t *Topic[E]) Request(event E, o ...waybill.EnqueueOption) waybill.Request {
	r := t.kind.Request(event, o...)
	r.Queue = store.Address(t.name)
	return r
}

// Publish sends an event. Its answer is accepted, or duplicate: an event of this ID and payload was published before, within
// the topic's window (by default an hour for IDs that were given, a minute for generated ones, and at most a million events).
// Errors: ErrInvalid; ErrConflict: the ID was another event's; ErrFull: the topic has a capacity and is full;
// ErrNoSubscription; ErrUnavailable; ErrUnknown: publish it again with the same ID, which the answer tells.
func (t *Topic[E]) Publish(ctx context.Context, c *waybill.Client, event E, o ...waybill.EnqueueOption) (waybill.Enqueued, error) {
	return c.Enqueue(ctx, t.Request(event, o...))
}

// PublishMany sends events in order, in calls of about 1,000 events and 1 MiB; where some wait for room (OnFull), those of a
// later call may come before them. It always returns one answer an event; the
// error is nil where all were taken, else a *waybill.BulkError. The options are for all of them: give each its ID by a type
// that is waybill.Identified, or send Requests by Client.EnqueueMany. Errors of each: as Publish.
func (t *Topic[E]) PublishMany(ctx context.Context, c *waybill.Client, events []E, o ...waybill.EnqueueOption) ([]waybill.Enqueued, error) {
	requests := make([]waybill.Request, len(events))
	for i, e := range events {
		requests[i] = t.Request(e, o...)
	}
	return c.EnqueueMany(ctx, requests)
}

// Create makes a subscription where it does not exist: see Stream.Create.
func (t *Topic[E]) Create(ctx context.Context, c *waybill.Client, subscription string, from Place) (Standpoint, error) {
	return t.Stream(c).Create(ctx, subscription, from)
}

// Stream looks at the topic and steers it: subscriptions, settings, replays.
func (t *Topic[E]) Stream(c *waybill.Client) *Stream { return Open(c, t.name) }

// SubscribeOptions of a subscription in one worker; the zero value is ready for use.
type SubscribeOptions struct {
	From        Place // where the subscription begins if it does not exist yet; "" = Beginning
	Concurrency int   // attempts at a time; 0 = WorkerOptions.Concurrency, or 10 where that is 0
	Weight      int   // share of the worker's slots where several queues want some; 0 = 1

	MaxFailures int                 // the MaxFailures-th failure kills; 0 = 25, waybill.Unlimited = none does
	Retry       waybill.RetryPolicy // nil = the worker's
	Timeout     time.Duration       // of one attempt; 0 = none
	Retention   time.Duration       // of an ended job; 0 = none
}

// Subscribe makes w run the events of a subscription with h, wrapped by m, the first outermost: the worker makes the
// subscription when it starts, if it is not there, and works its queue ("orders/billing") off beside its other queues. Run
// fails where the topic refuses the subscription. It panics on a bad name or bad options, where the worker has this
// subscription already, or runs.
func (t *Topic[E]) Subscribe(
	w *waybill.Worker, name string, o SubscribeOptions, h func(context.Context, *waybill.Job[E]) error, m ...waybill.Middleware,
) {
	t.kind.HandleQueue(w, o.queue(t.name, name), o.kind(), h, m...)
}

// SubscribeResult is Topic.Subscribe for a handler with a result. It is kept with the ended job for SubscribeOptions.Retention,
// for Queue.Get of the subscription's queue, by the event's ID.
func SubscribeResult[E, Out any](
	t *Topic[E], w *waybill.Worker, name string, o SubscribeOptions, h func(context.Context, *waybill.Job[E]) (Out, error), m ...waybill.Middleware,
) {
	waybill.HandleQueueResult(t.kind, w, o.queue(t.name, name), o.kind(), h, m...)
}

func (o SubscribeOptions) queue(topic, name string) waybill.QueueOptions {
	if o.From == "" {
		o.From = Beginning
	}
	return waybill.QueueOptions{Name: topic + "/" + name, Concurrency: o.Concurrency, Weight: o.Weight, Subscribe: string(o.From)}
}

func (o SubscribeOptions) kind() waybill.KindOptions {
	return waybill.KindOptions{MaxFailures: o.MaxFailures, Retry: o.Retry, Timeout: o.Timeout, Retention: o.Retention}
}
