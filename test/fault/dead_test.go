package fault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// TestG21_deadLimit: 20,000 jobs die where 10,000 are kept. What Redis then holds is what it holds where 10,000 died and
// none was cut, but for the settled window's memory of the others; the cut is counted, and nothing is left behind.
func TestG21_deadLimit(t *testing.T) {
	t.Parallel()
	const kept = 10_000
	s := redistest.Start(t)
	rdb := s.Client()
	c, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	must(t, err)
	kill(t, c, "cut", 2*kept)
	kill(t, c, "plain", kept)

	cut, err := c.Queue("cut").Stats(t.Context())
	must(t, err)
	if cut.Dead != kept || cut.DeadCut != kept || cut.Died != 2*kept || cut.Accepted != cut.Died {
		t.Errorf("%d dead, %d cut, %d died of %d", cut.Dead, cut.DeadCut, cut.Died, cut.Accepted)
	}
	keysCut, bytesCut := held(t, rdb, "cut")
	keys, bytes := held(t, rdb, "plain")
	t.Logf("20,000 died: %d keys, %d bytes; 10,000 died: %d keys, %d bytes", keysCut, bytesCut, keys, bytes)
	if keysCut != keys || keys < kept || bytesCut > bytes*102/100 || bytesCut < bytes*98/100 {
		t.Errorf("20,000 died: %d keys, %d bytes; 10,000 died: %d keys, %d bytes", keysCut, bytesCut, keys, bytes)
	}
	must(t, c.Queue("cut").Audit(t.Context(), false, func(f waybill.Finding) { t.Errorf("left behind: %+v", f) }, nil))
}

// kill enqueues n jobs and lets them all die.
func kill(t *testing.T, c *waybill.Client, queue string, n int) {
	t.Helper()
	requests := make([]waybill.Request, n)
	for i := range requests {
		requests[i] = waybill.Request{Queue: queue, Kind: "k", ID: fmt.Sprintf("%08d", i), Payload: []byte("payload")}
	}
	_, err := c.EnqueueMany(t.Context(), requests)
	must(t, err)
	w, err := waybill.NewWorker(c, waybill.WorkerOptions{Queues: []waybill.QueueOptions{{Name: queue, Concurrency: 50}}})
	must(t, err)
	w.HandleFunc("k", waybill.KindOptions{}, func(context.Context, *waybill.Attempt) ([]byte, error) {
		return nil, waybill.Dead(errors.New("no such user"))
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	within(t, time.Minute, "all have died and the limit is kept", func() bool {
		s, err := c.Queue(queue).Stats(t.Context())
		return err == nil && s.Died == int64(n) && s.Dead <= 10_000
	})
	stop()
	must(t, <-ended)
}

// held counts the keys of a queue and their bytes, without the settled window and what does not grow.
func held(t *testing.T, rdb *redis.Client, queue string) (keys, bytes int64) {
	t.Helper()
	tag := "wb:{" + queue + "}:"
	all := rdb.Scan(t.Context(), 0, tag+"job:*", 10_000).Iterator()
	var names []string
	for all.Next(t.Context()) {
		names = append(names, all.Val())
	}
	must(t, all.Err())
	keys = int64(len(names))
	for _, fixed := range []string{"runs", "faults", "dead", "ready", "leases", "cancels", "progress", "done"} {
		names = append(names, tag+fixed)
	}
	sizes := make([]*redis.IntCmd, len(names))
	_, err := rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i, name := range names {
			sizes[i] = p.MemoryUsage(t.Context(), name, 0) // every element
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) { // an index may be empty
		t.Fatal(err)
	}
	for _, size := range sizes {
		bytes += size.Val()
	}
	return keys, bytes
}
