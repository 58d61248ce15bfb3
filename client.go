package waybill

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/await"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/runner"
	"github.com/waybillhq/waybill/internal/store"
)

// DefaultQueue is the queue of kinds and requests that name none.
const DefaultQueue = "default"

// ClientOptions of a Client; the zero value is ready for use.
type ClientOptions struct {
	Prefix     string // before every Redis key; "" = "wb"
	MaxPayload int    // bytes; 0 = 256 KiB; at most 8 MiB
}

// Client enqueues and looks at jobs. It is safe for concurrent use.
type Client struct {
	store      *store.Store
	maxPayload int
	roster     runner.Roster // of the jobs that its workers run
	hosts      hosts         // of the workers, for people

	mu         sync.Mutex
	queues     map[string]*knownQueue
	middleware []EnqueueMiddleware
	closed     chan struct{}
	calls      sync.WaitGroup // enqueues under way
}

// knownQueue is a queue that this client speaks to.
type knownQueue struct {
	*store.Queue
	sender *sender
	waits  *await.Waits
}

// NewClient makes a client on the caller's Redis client, whose pool is to hold at least two connections: workers and waits
// keep one or more for what they listen to. It sends nothing. Errors: ErrInvalid.
func NewClient(rdb redis.UniversalClient, o ClientOptions) (*Client, error) {
	if rdb == nil {
		return nil, &record.InputError{Field: "redis client", Why: "is nil"}
	}
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
	return &Client{store: s, maxPayload: o.MaxPayload, queues: map[string]*knownQueue{}, closed: make(chan struct{})}, nil
}

// Close refuses further jobs with ErrUnavailable, ends all waits, those for room too, and returns when no call is under
// way. It leaves the Redis client open: that is the caller's. Close it when the workers on it have ended. It always
// returns nil.
func (c *Client) Close() error {
	c.mu.Lock()
	if !c.isClosed() {
		close(c.closed)
	}
	queues := slices.Collect(maps.Values(c.queues))
	c.mu.Unlock()
	for _, q := range queues {
		q.waits.Close()
	}
	c.calls.Wait()
	for _, q := range queues {
		q.sender.wait()
	}
	c.store.Close()
	return nil
}

func (c *Client) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// Enqueue sends one job. The answer tells ID and outcome also with an error.
// Errors: ErrInvalid, ErrConflict, ErrFull, ErrUnavailable, ErrUnknown, ErrNewer (a conflict too).
func (c *Client) Enqueue(ctx context.Context, r Request) (Enqueued, error) {
	r.name()
	out := c.send(ctx, []Request{r})
	return out[0], out[0].Err
}

// EnqueueMany sends many jobs, also of several queues, in calls of about 1,000 jobs and 1 MiB. Jobs that other
// callers send to the same queue at the time share these calls.
// It always returns one answer a job, in order; the error is nil where every job was taken
// (accepted, duplicate, waited or spilled), else a *BulkError.
func (c *Client) EnqueueMany(ctx context.Context, requests []Request) ([]Enqueued, error) {
	named := slices.Clone(requests)
	for i := range named {
		named[i].name()
	}
	out := c.send(ctx, named)
	return out, BulkErrorOf(out)
}

// enqueue is what the middleware wraps: it sends jobs that have their names, and waits for room as they wish.
func (c *Client) enqueue(ctx context.Context, requests []Request) []Enqueued {
	if len(requests) == 1 {
		return []Enqueued{c.enqueueOne(ctx, requests[0])}
	}
	r := &round{out: make([]Enqueued, len(requests)), start: time.Now()}
	batches := c.gather(requests, r.out)
	for ; len(batches) > 0; r.waited = true {
		if r.waited && !c.pauseFor(ctx, r.start) {
			giveUp(batches, r.out, c.why(ctx))
			break
		}
		batches = r.sendAll(ctx, batches)
	}
	return r.out
}

// enqueueOne is enqueue for a lone job, which is what most calls bring: without sorting, it costs half the memory.
func (c *Client) enqueueOne(ctx context.Context, r Request) Enqueued {
	e := Enqueued{ID: r.ID, Queue: r.Queue}
	q, err := c.check(r)
	if err != nil {
		e.fail(OutcomeInvalid, err)
		return e
	}
	jobs, start := []store.Add{r.add()}, time.Now()
	for waited := false; ; waited = true {
		e.answer(q.sender.hand(ctx, jobs, r.OnFull == FullSpill).await()[0], waited)
		if !r.OnFull.waits(e, start) {
			return e
		}
		if !c.pauseFor(ctx, start) {
			e.Err = fmt.Errorf("%w: %w", e.Err, c.why(ctx))
			return e
		}
	}
}

// giveUp says of the jobs that wait for room that their caller's context ended.
func giveUp(batches []*queueBatch, out []Enqueued, why error) {
	for _, b := range batches {
		for _, at := range b.at {
			out[at].Err = fmt.Errorf("%w: %w", out[at].Err, why)
		}
	}
}

// pauseFor waits before the next look for room: 10 ms at first, a tenth of the time waited so
// far, at most 200 ms, with jitter. False where the context ended, or the client was closed.
func (c *Client) pauseFor(ctx context.Context, start time.Time) bool {
	d := min(max(time.Since(start)/10, 10*time.Millisecond), 200*time.Millisecond)
	t := time.NewTimer(d/2 + rand.N(d/2))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-c.closed:
		return false
	case <-t.C:
		return true
	}
}

// why tells what ended a wait for room.
func (c *Client) why(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return errClosed
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
	known := &knownQueue{Queue: q, sender: newSender(q), waits: await.New(q)}
	c.queues[name] = known
	if c.isClosed() {
		known.waits.Close()
	}
	return known, nil
}

func orDefault(queue string) string {
	if queue == "" {
		return DefaultQueue
	}
	return queue
}
