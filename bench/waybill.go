package main

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// kind of all jobs.
const kind = "bench"

// capacity of the queue, in jobs: never reached, always checked.
const capacity = 10_000_000

// waybill is the store as it is, or with cuts in its scripts.
type waybill struct {
	queue  *store.Queue
	worker string
	claims int64
	held   []store.Settlement
}

// newWaybill makes the subject of the store with all its promises.
func newWaybill(ctx context.Context, rdb *redis.Client) (subject, error) {
	w, err := openWaybill(rdb)
	if err != nil {
		return nil, err
	}
	most := int64(capacity)
	return w, w.queue.Configure(ctx, store.Settings{Capacity: &most})
}

func openWaybill(rdb *redis.Client) (*waybill, error) {
	s, err := store.New(rdb, store.Options{})
	if err != nil {
		return nil, err
	}
	q, err := s.Queue("bench")
	if err != nil {
		return nil, err
	}
	return &waybill{queue: q, worker: record.NewWorkerID()}, nil
}

func (w *waybill) enqueue(ctx context.Context, jobs []job) error {
	adds := make([]store.Add, len(jobs))
	for i, j := range jobs {
		adds[i] = store.Add{ID: j.id, Job: record.Job{Kind: kind, Payload: j.payload}}
	}
	n := 0
	var err error
	for _, e := range w.queue.Enqueue(ctx, adds, false) {
		if e.Outcome == store.Accepted {
			n++
		}
		if err == nil {
			err = e.Err
		}
	}
	return expect("enqueued", n, len(jobs), err)
}

func (w *waybill) claim(ctx context.Context, n int) error {
	w.claims++
	c, err := w.queue.Claim(ctx, store.Claim{
		Worker: w.worker, Number: w.claims, Most: n, Lease: lease, Kinds: []string{kind},
	})
	for _, d := range c.Jobs {
		rec, err := record.Parse(d.Record)
		if err != nil {
			return err
		}
		w.held = append(w.held, store.Settlement{Member: d.Member(), Keep: rec.Keep, End: store.Ack})
	}
	return expect("claimed", len(c.Jobs), n, err)
}

func (w *waybill) settle(ctx context.Context, n int) error {
	verdicts, err := w.queue.Settle(ctx, w.held[:n])
	w.held = w.held[n:]
	done := 0
	for _, v := range verdicts {
		if v == store.Done {
			done++
		}
	}
	return expect("settled", done, n, err)
}
