package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/devredis"
	"github.com/waybillhq/waybill/topic"
)

// slots of the worker that drains.
const slots = 100

// rig is a Redis of its own, a topic and a queue.
type rig struct {
	redis  *devredis.Server
	rdb    *redis.Client
	client *waybill.Client
	topic  *topic.Topic[json.RawMessage]
	kind   *waybill.Kind[json.RawMessage]
	event  json.RawMessage
}

func newRig(ctx context.Context, payload int) (*rig, error) {
	r := &rig{
		topic: topic.Define[json.RawMessage]("orders"),
		kind:  waybill.Define[json.RawMessage]("orders", waybill.KindOptions{Queue: "plain"}),
		event: json.RawMessage(`"` + strings.Repeat("x", max(0, payload-2)) + `"`),
	}
	if err := r.open(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *rig) open(ctx context.Context) (err error) {
	if r.redis, err = devredis.Start(ctx, devredis.Options{}); err != nil {
		return err
	}
	o, err := redis.ParseURL(r.redis.URL())
	if err != nil {
		return err
	}
	r.rdb = redis.NewClient(o)
	r.client, err = waybill.NewClient(r.rdb, waybill.ClientOptions{})
	return err
}

func (r *rig) close() {
	if r.client != nil {
		_ = r.client.Close() // it always succeeds
	}
	if r.rdb != nil {
		_ = r.rdb.Close() // its server ends next
	}
	if r.redis != nil {
		_ = r.redis.Close() // a temporary folder
	}
}

// subscribe makes subscriptions s0, s1, and so on.
func (r *rig) subscribe(ctx context.Context, n int) error {
	for i := range n {
		if _, err := r.topic.Create(ctx, r.client, fmt.Sprintf("s%d", i), topic.Beginning); err != nil {
			return err
		}
	}
	return nil
}

// many are n events.
func (r *rig) many(n int) []json.RawMessage {
	out := make([]json.RawMessage, n)
	for i := range out {
		out[i] = r.event
	}
	return out
}

// publish sends n events in bulk and gives the rate a second.
func (r *rig) publish(ctx context.Context, n int) (float64, error) {
	events, start := r.many(n), time.Now()
	_, err := r.topic.PublishMany(ctx, r.client, events)
	return float64(n) / time.Since(start).Seconds(), err
}

// enqueue is publish for jobs of the plain queue.
func (r *rig) enqueue(ctx context.Context, n int) (float64, error) {
	jobs, start := r.many(n), time.Now()
	_, err := r.kind.EnqueueMany(ctx, r.client, jobs)
	return float64(n) / time.Since(start).Seconds(), err
}

// drain works n jobs off, with handlers that do nothing, and gives the rate a second. handle gives the worker its handler.
func (r *rig) drain(ctx context.Context, n int, handle func(*waybill.Worker, func(context.Context, *waybill.Job[json.RawMessage]) error)) (float64, error) {
	w, err := waybill.NewWorker(r.client, waybill.WorkerOptions{Concurrency: slots})
	if err != nil {
		return 0, err
	}
	work, stop := context.WithCancel(ctx)
	defer stop()
	var got atomic.Int64
	handle(w, func(context.Context, *waybill.Job[json.RawMessage]) error {
		if got.Add(1) == int64(n) {
			stop()
		}
		return nil
	})
	start := time.Now()
	err = w.Run(work)
	return float64(n) / time.Since(start).Seconds(), err
}

func (r *rig) subscription(w *waybill.Worker, h func(context.Context, *waybill.Job[json.RawMessage]) error) {
	r.topic.Subscribe(w, "s0", topic.SubscribeOptions{}, h)
}

func (r *rig) queue(w *waybill.Worker, h func(context.Context, *waybill.Job[json.RawMessage]) error) {
	r.kind.Handle(w, h)
}

// median of figures.
func median[N float64 | time.Duration](all []N) N {
	slices.Sort(all)
	return all[len(all)/2]
}

// spans times a call again and again, in order of their lengths.
func spans(n int, call func() error) ([]time.Duration, error) {
	all := make([]time.Duration, n)
	for i := range all {
		start := time.Now()
		if err := call(); err != nil {
			return nil, err
		}
		all[i] = time.Since(start)
	}
	slices.Sort(all)
	return all, nil
}

// told is how long calls took, for people.
func told(all []time.Duration) string {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return fmt.Sprintf("p50 %.2f ms, p99 %.2f ms, longest %.2f ms", ms(all[len(all)/2]), ms(all[len(all)*99/100]), ms(all[len(all)-1]))
}
