package waybill

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// round is one enqueue of jobs, also of several queues and policies, with the answers as they come.
type round struct {
	out    []Enqueued
	start  time.Time
	waited bool
}

// queueBatch gathers the jobs of one queue and policy.
type queueBatch struct {
	queue *knownQueue
	spill bool
	at    []int // places in the answer
	jobs  []store.Add
	waits []FullPolicy
}

// expect makes room for so many jobs.
func (b *queueBatch) expect(n int) {
	b.at, b.jobs, b.waits = make([]int, 0, n), make([]store.Add, 0, n), make([]FullPolicy, 0, n)
}

func (b *queueBatch) add(at int, r Request) {
	b.at = append(b.at, at)
	b.jobs = append(b.jobs, r.add())
	b.waits = append(b.waits, r.OnFull)
}

// sendAll sends each batch once, a parcel of each queue at a time, and gives back what is to be asked again:
// the jobs that wait for room.
func (r *round) sendAll(ctx context.Context, batches []*queueBatch) (again []*queueBatch) {
	from := make([]int, len(batches))
	for left := true; left; {
		left = false
		parcels := make([]*parcel, len(batches))
		for i, b := range batches {
			if rest := b.jobs[from[i]:]; len(rest) > 0 {
				parcels[i] = b.queue.sender.hand(ctx, rest[:fitJobs(rest)], b.spill)
			}
		}
		for i, p := range parcels {
			if p != nil {
				r.take(batches[i], from[i], p.await())
				from[i] += p.n
				left = left || from[i] < len(batches[i].jobs)
			}
		}
	}
	for _, b := range batches {
		if rest := r.waiting(b); len(rest.jobs) > 0 {
			again = append(again, rest)
		}
	}
	return again
}

func (r *round) take(b *queueBatch, from int, said []store.Enqueued) {
	for i, e := range said {
		r.out[b.at[from+i]].answer(e, r.waited)
	}
}

// waiting are the jobs of a batch that were told full and may still wait.
func (r *round) waiting(b *queueBatch) *queueBatch {
	rest := &queueBatch{queue: b.queue, spill: b.spill}
	for i, at := range b.at {
		if b.waits[i].waits(r.out[at], r.start) {
			rest.at, rest.jobs = append(rest.at, at), append(rest.jobs, b.jobs[i])
			rest.waits = append(rest.waits, b.waits[i])
		}
	}
	return rest
}

// gather checks requests and sorts them by queue and policy. Those that break a limit are answered at once.
func (c *Client) gather(requests []Request, out []Enqueued) []*queueBatch {
	batches := map[string]*queueBatch{}
	var order []*queueBatch
	for i, r := range requests {
		out[i] = Enqueued{ID: r.ID, Queue: r.Queue}
		q, err := c.check(r)
		if err != nil {
			out[i].fail(OutcomeInvalid, err)
			continue
		}
		key := r.Queue
		if r.OnFull == FullSpill {
			key += " spill"
		}
		if batches[key] == nil {
			batches[key] = &queueBatch{queue: q, spill: r.OnFull == FullSpill}
			if len(order) == 0 { // mostly all are of one queue, and to grow by copying is a third of a caller's time
				batches[key].expect(len(requests) - i)
			}
			order = append(order, batches[key])
		}
		batches[key].add(i, r)
	}
	return order
}

func (c *Client) check(r Request) (*knownQueue, error) {
	if err := r.check(c.maxPayload); err != nil {
		return nil, err
	}
	return c.queue(r.Queue)
}
