package fault_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// TestR3_repliesLostAtRandom: the replies of 1,000 enqueues, claims, renewals and settlements are lost, each with its
// connection. Every job is in the account once and run once; no lease is waited out; no producer is told a lie.
func TestR3_repliesLostAtRandom(t *testing.T) {
	t.Parallel()
	const losses, producers, long = 1000, 8, 20
	r := newRig(t)
	capacity := int64(1_000_000)
	must(t, r.beside.Queue(queue).Set(t.Context(), waybill.QueueSettings{Capacity: &capacity}))
	release := make(chan struct{})
	_, ran := r.start(waybill.WorkerOptions{Concurrency: 40, Lease: 6 * time.Second}, func(ctx context.Context, job *waybill.Job[int]) error {
		if job.Args < 0 { // these are renewed meanwhile
			select {
			case <-release:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	for n := range long {
		r.send(-1, waybill.ID(name("long-", n)))
	}
	within(t, 10*time.Second, "the long jobs run", func() bool { return ran.total() == long })
	// A reply is lost in four of a hundred calls, of renewals, which are few, in every second.
	rnd, verbs := random(t), store.Digests()
	lost := map[string]int{}
	var total atomic.Int64
	r.proxy.LoseWhere(func(request []byte) bool {
		at := bytes.Index(request, []byte("$40\r\n"))
		if at < 0 || at+45 > len(request) || total.Load() >= losses {
			return false
		}
		verb := verbs[string(request[at+5:at+45])]
		share := map[string]float64{"enqueue": 0.2, "claim": 0.2, "settle": 0.2, "renew": 0.5}[verb]
		if rnd.Float64() >= share {
			return false
		}
		lost[verb]++
		total.Add(1)
		return true
	})
	taken := produceUntil(t, r, producers, func() bool { return total.Load() >= losses })
	close(release)
	r.undisturbed(ran, int(taken)+long)
	r.proxy.LoseWhere(nil)
	t.Logf("%d jobs; replies lost: %v", taken, lost)
	for _, verb := range []string{"enqueue", "claim", "settle", "renew"} {
		if lost[verb] == 0 {
			t.Errorf("no reply of %s was lost", verb)
		}
	}
}

// produceUntil enqueues from many callers, half of them under given IDs, and gives how many jobs there are.
func produceUntil(t *testing.T, r *rig, producers int, enough func() bool) int64 {
	t.Helper()
	var taken atomic.Int64
	var all sync.WaitGroup
	for p := range producers {
		all.Go(func() {
			for n := 0; !enough(); n++ {
				var o []waybill.EnqueueOption
				if n%2 == 0 {
					o = append(o, waybill.ID(name(name("job-", p)+"-", n)))
				}
				e, err := work.Enqueue(t.Context(), r.client, n, o...)
				for errors.Is(err, waybill.ErrUnknown) { // as the error says: ask again with the same ID
					e, err = work.Enqueue(t.Context(), r.client, n, waybill.ID(e.ID))
				}
				if err != nil || e.Outcome != waybill.OutcomeAccepted && e.Outcome != waybill.OutcomeDuplicate {
					t.Errorf("producer %d was told %s, %v", p, e.Outcome, err)
					return
				}
				taken.Add(1)
			}
		})
	}
	all.Wait()
	return taken.Load()
}
