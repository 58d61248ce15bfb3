package waybill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// DefaultQueue is the queue of kinds and requests that name none.
const DefaultQueue = "default"

// registerEvery is how often a client writes the names of queues it sends to into the list of
// queues, which people read.
const registerEvery = time.Minute

// ClientOptions of a Client; the zero value is ready for use.
type ClientOptions struct {
	Prefix     string // before every Redis key; "" = "wb"
	MaxPayload int    // bytes; 0 = 256 KiB; at most 8 MiB
}

// Client enqueues and looks at jobs. It is safe for concurrent use.
type Client struct {
	store      *store.Store
	maxPayload int

	mu     sync.Mutex
	queues map[string]*knownQueue
}

type knownQueue struct {
	*store.Queue
	registered time.Time
}

// NewClient makes a client on the caller's Redis client. It sends nothing. Errors: ErrInvalid.
func NewClient(rdb redis.UniversalClient, o ClientOptions) (*Client, error) {
	if o.MaxPayload == 0 {
		o.MaxPayload = record.MaxPayload
	}
	if o.MaxPayload < 0 || o.MaxPayload > record.HardPayload {
		return nil, &record.InputError{
			Field: "max payload", Why: fmt.Sprintf("is %d bytes: from 1 to %d", o.MaxPayload, record.HardPayload),
		}
	}
	s, err := store.New(rdb, store.Options{Prefix: o.Prefix})
	if err != nil {
		return nil, err
	}
	return &Client{store: s, maxPayload: o.MaxPayload, queues: map[string]*knownQueue{}}, nil
}

// Close ends what the client started. It leaves the Redis client open: that is the caller's.
func (c *Client) Close() error { return nil }

// Enqueue sends one job. The answer tells ID and outcome also with an error.
// Errors: ErrInvalid, ErrConflict, ErrFull, ErrUnavailable, ErrUnknown.
func (c *Client) Enqueue(ctx context.Context, r Request) (Enqueued, error) {
	out, err := c.EnqueueMany(ctx, []Request{r})
	var bulk *BulkError
	if errors.As(err, &bulk) {
		err = out[0].Err
	}
	return out[0], err
}

// EnqueueMany sends many jobs, also of several queues, in calls of at most 1,000 jobs and 1 MiB.
// It always returns one answer a job, in order; the error is nil where every job was taken
// (accepted, duplicate, waited or spilled), else a *BulkError.
func (c *Client) EnqueueMany(ctx context.Context, requests []Request) ([]Enqueued, error) {
	out := make([]Enqueued, len(requests))
	batches := map[string]*queueBatch{}
	var order []*queueBatch
	for i, r := range requests {
		named := r.ID != ""
		if !named {
			r.ID = record.NewID(time.Now())
		}
		r.Queue = orDefault(r.Queue)
		out[i] = Enqueued{ID: r.ID, Queue: r.Queue}
		if err := r.check(c.maxPayload); err != nil {
			out[i].fail(OutcomeInvalid, err)
			continue
		}
		key := r.Queue
		if r.OnFull == FullSpill {
			key += " spill"
		}
		if batches[key] == nil {
			batches[key] = &queueBatch{queue: r.Queue, spill: r.OnFull == FullSpill}
			order = append(order, batches[key])
		}
		batches[key].add(i, r, named)
	}
	for start, waited := time.Now(), false; len(order) > 0; waited = true {
		if waited && !pauseFor(ctx, start) {
			giveUp(order, out, ctx.Err())
			break
		}
		order = c.sendAll(ctx, order, out, start, waited)
	}
	return out, bulkError(out)
}

// queueBatch gathers the jobs of one queue and policy.
type queueBatch struct {
	queue string
	spill bool
	at    []int // places in the answer
	jobs  []store.Add
	waits []FullPolicy
}

func (b *queueBatch) add(i int, r Request, named bool) {
	b.at = append(b.at, i)
	b.jobs = append(b.jobs, store.Add{ID: r.ID, Priority: r.Priority, LIFO: r.LIFO, Job: r.job(named)})
	b.waits = append(b.waits, r.OnFull)
}

// sendAll sends each batch once and gives back what is to be asked again: the jobs that wait for room.
func (c *Client) sendAll(ctx context.Context, batches []*queueBatch, out []Enqueued, start time.Time, waited bool) []*queueBatch {
	var again []*queueBatch
	for _, b := range batches {
		q, err := c.queue(b.queue)
		if err != nil { // the name was checked before
			continue
		}
		rest := &queueBatch{queue: b.queue, spill: b.spill}
		for i, e := range q.Enqueue(ctx, b.jobs, b.spill) {
			out[b.at[i]].answer(e, waited)
			if e.Outcome == store.Full && b.waits[i] > 0 && time.Since(start) < time.Duration(b.waits[i]) {
				rest.at, rest.jobs = append(rest.at, b.at[i]), append(rest.jobs, b.jobs[i])
				rest.waits = append(rest.waits, b.waits[i])
			}
		}
		if len(rest.jobs) > 0 {
			again = append(again, rest)
		}
		c.register(ctx, q)
	}
	return again
}

// giveUp says of the jobs that wait for room that their caller's context ended.
func giveUp(batches []*queueBatch, out []Enqueued, why error) {
	for _, b := range batches {
		for _, at := range b.at {
			out[at].Err = errors.Join(out[at].Err, why)
		}
	}
}

// pauseFor waits before the next look for room: 10 ms at first, a tenth of the time waited so
// far, at most 200 ms, with jitter. False where the context ended.
func pauseFor(ctx context.Context, start time.Time) bool {
	d := min(max(time.Since(start)/10, 10*time.Millisecond), 200*time.Millisecond)
	t := time.NewTimer(d/2 + rand.N(d/2))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// queue gives the store of a queue, made once.
func (c *Client) queue(name string) (*knownQueue, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.queues[name]; q != nil {
		return q, nil
	}
	q, err := c.store.Queue(name)
	if err != nil {
		return nil, err
	}
	known := &knownQueue{Queue: q}
	c.queues[name] = known
	return known, nil
}

// register writes the queue's name into the list of queues, once a minute. A failure is left to
// the next time: nothing but a list for people depends on it.
func (c *Client) register(ctx context.Context, q *knownQueue) {
	c.mu.Lock()
	due := time.Since(q.registered) >= registerEvery
	if due {
		q.registered = time.Now()
	}
	c.mu.Unlock()
	if due && q.Register(ctx) != nil {
		c.mu.Lock()
		q.registered = time.Time{}
		c.mu.Unlock()
	}
}

func orDefault(queue string) string {
	if queue == "" {
		return DefaultQueue
	}
	return queue
}

func (r Request) check(maxPayload int) error {
	if r.err != nil {
		return &record.InputError{Field: "payload", Why: "can't be encoded: " + r.err.Error()}
	}
	if err := store.CheckQueue(r.Queue); err != nil {
		return err
	}
	if err := r.job(true).Check(r.ID, r.Priority); err != nil {
		return err
	}
	return record.CheckSize(r.Payload, maxPayload)
}
