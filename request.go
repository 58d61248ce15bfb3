package waybill

import (
	"errors"
	"maps"
	"math"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// Unlimited as MaxFailures: failures never kill the job.
const Unlimited = -1

// Request is a job not yet sent. Kinds make it; tools may fill it by hand.
type Request struct {
	Queue       string            // "" = "default"; "topic:NAME" publishes an event: see package topic
	Kind        string            // what handler; required
	ID          string            // "" = generated when it is sent
	Payload     []byte            // handed to the handler as it is; may be empty
	Headers     map[string]string // beside the payload, outside the fingerprint: trace context, tenant
	Priority    int               // -1000 to 1000; higher is claimed first
	LIFO        bool              // newest first within its priority
	Delay       time.Duration     // due so long after the enqueue, by Redis's clock; 0 = now
	At          time.Time         // due then; beats Delay
	MaxFailures int               // the MaxFailures-th failure kills; 0 = the worker's, Unlimited = none does
	Retention   time.Duration     // of the ended job and its result; 0 = none
	Version     int               // of the payload's shape
	OnFull      FullPolicy        // what to do where the queue is full; zero = FullReject

	err       error  // of encoding the arguments, told when it is sent
	named     bool   // an ID was given, even an empty one
	generated string // the ID that the client made up, "" where it was given

	// Of a job that was enqueued before, elsewhere: what its receipts go by.
	born  time.Time // zero = it is new
	scope string    // "" = it is new
	// Likewise of a replay; see record.Job.
	event, replay string
	again         bool
}

// FullPolicy says what happens to a job that finds its queue full: FullReject, FullSpill, FullWait or FullWaitFor. A
// positive value waits so long for room, asking again after 10 to 200 ms with jitter.
type FullPolicy time.Duration

// Policies.
const (
	FullReject FullPolicy = 0             // ErrFull at once
	FullSpill  FullPolicy = -1            // kept aside, admitted in order as room comes
	FullWait   FullPolicy = math.MaxInt64 // until there is room or the context ends
)

// FullWaitFor waits for room, at most d; then the job is rejected. d must be positive, else it is FullReject.
func FullWaitFor(d time.Duration) FullPolicy { return FullPolicy(max(0, d)) }

// waits tells whether a job that was answered so asks again; start is when it was first sent.
func (p FullPolicy) waits(e Enqueued, start time.Time) bool {
	return p > 0 && errors.Is(e.Err, ErrFull) && time.Since(start) < time.Duration(p)
}

// EnqueueOption changes a request before it is sent.
type EnqueueOption func(*Request)

// ID names the job: 1 to 128 bytes of printable UTF-8 without space. The same ID with the same
// payload is one job (duplicate); with another payload it is a conflict. An ID names its work for ever.
func ID(id string) EnqueueOption { return func(r *Request) { r.ID, r.named = id, true } }

// CausedBy derives the ID from the job that causes this one: JOBID/step, above 128 bytes its SHA-256 in hex. So a
// repeated attempt enqueues it once. In a subscription it is TOPIC/SUBSCRIPTION/EVENT/step: another subscription's job is
// another one, and a replay causes the same one unless it is to repeat effects.
func CausedBy(a *Attempt, step string) EnqueueOption {
	cause := a.ID
	if a.Event != "" {
		cause = a.Scope + "/" + a.EffectID()
	}
	return ID(shortened(cause+"/"+step, record.MaxID))
}

// After makes the job due after d, by Redis's clock.
func After(d time.Duration) EnqueueOption { return func(r *Request) { r.Delay = d } }

// At makes the job due at t, to the millisecond. A past t is now.
func At(t time.Time) EnqueueOption { return func(r *Request) { r.At = t } }

// Priority from -1000 to 1000; higher is claimed first. Default 0.
func Priority(p int) EnqueueOption { return func(r *Request) { r.Priority = p } }

// LIFO puts the job before those of its priority that wait.
func LIFO() EnqueueOption { return func(r *Request) { r.LIFO = true } }

// MaxFailures sets the failure that kills the job; Unlimited = none does.
func MaxFailures(n int) EnqueueOption { return func(r *Request) { r.MaxFailures = n } }

// Retention keeps the ended job and its result readable for d.
func Retention(d time.Duration) EnqueueOption { return func(r *Request) { r.Retention = d } }

// OnFull says what to do where the queue is full.
func OnFull(p FullPolicy) EnqueueOption { return func(r *Request) { r.OnFull = p } }

// Header adds a header. At most 32, together at most 8 KiB; names as of queues.
func Header(name, value string) EnqueueOption {
	return func(r *Request) { r.SetHeader(name, value) }
}

// SetHeader is Header for a request at hand, as middleware has it. It leaves copies of the request as they are.
func (r *Request) SetHeader(name, value string) {
	headers := maps.Clone(r.Headers)
	if headers == nil {
		headers = map[string]string{}
	}
	headers[name] = value
	r.Headers = headers
}

// Named is the request with its queue and ID fixed, as sending it would fix them: so the ID of a job is known before it is
// sent, and sending it twice is one job. A request that has an ID keeps it; "" as a queue is "default". Nothing is checked.
func (r Request) Named() Request {
	r.name()
	return r
}

// name gives a request its queue and its ID, before anything is sent.
func (r *Request) name() {
	r.Queue = orDefault(r.Queue)
	if r.ID == "" && !r.named {
		r.generated = record.NewID(time.Now())
		r.ID = r.generated
	}
}

// check tells the first limit that the request breaks. Errors: ErrInvalid.
func (r Request) check(maxPayload int) error {
	if r.err != nil {
		return &record.InputError{Field: "payload", Why: "can't be encoded: " + r.err.Error()}
	}
	if err := store.CheckAddress(r.Queue); err != nil {
		return err
	}
	if topic, ok := store.TopicOf(r.Queue); ok {
		if err := r.checkEvent(topic); err != nil {
			return err
		}
	}
	if r.OnFull < FullSpill {
		return invalid("on full", "is %d: a policy, or a time to wait", r.OnFull)
	}
	if err := r.job().Check(r.ID, r.Priority); err != nil {
		return err
	}
	return record.CheckSize(r.Payload, maxPayload)
}

// checkEvent refuses what an event can't have: what happens to its jobs is for each subscription to say.
func (r Request) checkEvent(topic string) error {
	for _, no := range []struct {
		field string
		given bool
	}{
		{"priority", r.Priority != 0},
		{"lifo", r.LIFO},
		{"delay", r.Delay != 0},
		{"at", !r.At.IsZero()},
		{"max failures", r.MaxFailures != 0},
		{"retention", r.Retention != 0},
		{"on full", r.OnFull == FullSpill},
	} {
		if no.given {
			return invalid(no.field, "can't be given to an event (topic %s): its subscriptions decide, and nothing is spilled", topic)
		}
	}
	return nil
}

// add is the request as the store takes it.
func (r Request) add() store.Add {
	return store.Add{ID: r.ID, Priority: r.Priority, LIFO: r.LIFO, Job: r.job()}
}

// job is the request as a record's producer part.
func (r Request) job() record.Job {
	return record.Job{
		Kind: r.Kind, Payload: r.Payload, Named: r.ID != r.generated, Delay: r.Delay, At: r.At, Retention: r.Retention,
		MaxFailures: r.MaxFailures, Version: r.Version, Headers: r.Headers, Born: r.born, Scope: scopeIn(r.Queue, r.scope),
		Event: r.event, Replay: r.replay, Again: r.again,
	}
}

// scopeIn is a scope as a record in a queue has it: "" where it is the queue's own.
func scopeIn(queue, scope string) string {
	if scope == queue {
		return ""
	}
	return scope
}
