package fault_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// TestNoticeAfterEnd: the worker's word of an end takes long to come to Redis. A waiter that was given its notice finds the job
// ended: it comes back by the notice, and not by the look that it takes a second later.
func TestNoticeAfterEnd(t *testing.T) {
	t.Parallel()
	const slow, look = 200 * time.Millisecond, time.Second
	r := newRig(t)
	r.proxy.Verbs(store.Digests())
	r.proxy.Delay(func(q redistest.Request) time.Duration {
		if q.Verb == "settle" {
			return slow
		}
		return 0
	})
	r.start(waybill.WorkerOptions{Concurrency: 1}, nothing)
	var took []time.Duration
	for n := range 5 {
		id := r.send(n)
		began := time.Now()
		must(t, work.Wait(t.Context(), r.beside, id))
		took = append(took, time.Since(began))
	}
	best(t, look-slow/2, took)
}
