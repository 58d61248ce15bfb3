package fault_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// TestR3_replyThatNeverCame: the replies of 1,000 enqueues are lost, whole or in the middle, and every tenth call comes
// again later on another connection, while queues fill up to their capacity. Who was accepted and not told is never told
// rejected or conflict, each ID is one job, and the room is used up exactly.
func TestR3_replyThatNeverCame(t *testing.T) {
	t.Parallel()
	const losses, capacity, producers, each, atOnce = 1000, 150, 8, 25, 8
	r := newRig(t)
	r.proxy.Verbs(store.Digests())
	rnd := random(t)
	r.proxy.Decide(func(q redistest.Request) redistest.Fate { return unheard(rnd, q.Verb) })
	lost := func() int {
		fired := r.proxy.Faults()
		return fired[redistest.DropReply] + fired[redistest.CutReply]
	}
	queues := 0
	for lost() < losses && !t.Failed() {
		several := make([]*filling, atOnce)
		for i := range several {
			several[i] = &filling{rig: r, kind: work.On(name("q-", queues)), told: map[string]waybill.Outcome{}}
			most := int64(capacity)
			must(t, r.beside.Queue(several[i].queue()).Set(t.Context(), waybill.QueueSettings{Capacity: &most}))
			queues++
		}
		fillAll(several, producers, each)
		for _, f := range several {
			f.check(capacity, producers*each)
		}
		_, err := r.proxy.Deliver(t.Context()) // the calls that come again
		must(t, err)
		for _, f := range several {
			f.check(capacity, producers*each)
		}
	}
	t.Logf("%d queues, replies lost: %v", queues, r.proxy.Faults())
	if r.proxy.Faults()[redistest.Again] == 0 {
		t.Error("no call came again")
	}
}

// unheard loses half of the replies to enqueues, and keeps some calls for later.
func unheard(rnd *rand.Rand, verb string) redistest.Fate {
	switch n := rnd.IntN(20); {
	case verb != "enqueue" || n >= 12:
		return redistest.Pass
	case n < 5:
		return redistest.DropReply
	case n < 10:
		return redistest.CutReply
	default:
		return redistest.Again
	}
}

// filling is a queue that producers fill, and what they were told in the end.
type filling struct {
	*rig
	kind *waybill.Kind[int]

	mu   sync.Mutex
	told map[string]waybill.Outcome
}

func (f *filling) queue() string { return f.kind.Request(0).Queue }

// fillAll fills several queues at the same time.
func fillAll(several []*filling, producers, each int) {
	var all sync.WaitGroup
	for _, f := range several {
		all.Go(func() { f.produce(producers, each) })
	}
	all.Wait()
}

// produce enqueues, half under given IDs, and asks again with the same ID where the outcome is unknown.
func (f *filling) produce(producers, each int) {
	var all sync.WaitGroup
	for p := range producers {
		all.Go(func() {
			for n := range each {
				var o []waybill.EnqueueOption
				if n%2 == 0 {
					o = append(o, waybill.ID(name(name("job-", p)+"-", n)))
				}
				e, err := f.kind.Enqueue(f.t.Context(), f.client, n, o...)
				for errors.Is(err, waybill.ErrUnknown) {
					e, err = f.kind.Enqueue(f.t.Context(), f.client, n, waybill.ID(e.ID))
				}
				if err != nil && !errors.Is(err, waybill.ErrFull) {
					f.t.Errorf("producer %d was told %s, %v", p, e.Outcome, err)
				}
				f.tell(e)
			}
		})
	}
	all.Wait()
}

func (f *filling) tell(e waybill.Enqueued) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if before, twice := f.told[e.ID]; twice {
		f.t.Errorf("%s was told %s and %s: two jobs have one ID", e.ID, before, e.Outcome)
	}
	f.told[e.ID] = e.Outcome
}

// check compares what was told with the jobs that are there.
func (f *filling) check(capacity, asked int) {
	f.t.Helper()
	ctx := context.WithoutCancel(f.t.Context())
	q, there := f.beside.Queue(f.queue()), map[string]bool{}
	for j, err := range q.Jobs(ctx, waybill.Filter{}) {
		must(f.t, err)
		if there[j.ID] || !f.told[j.ID].Taken() {
			f.t.Errorf("%s: %s is there, twice (%t) or told %q", f.queue(), j.ID, there[j.ID], f.told[j.ID])
		}
		there[j.ID] = true
	}
	taken := 0
	for id, o := range f.told {
		if o.Taken() {
			taken++
		}
		if o.Taken() != there[id] {
			f.t.Errorf("%s: %s was told %s; it is there: %t", f.queue(), id, o, there[id])
		}
	}
	s, err := q.Stats(ctx)
	must(f.t, err)
	if n := int64(capacity); taken != capacity || len(f.told) != asked || s.Accepted != n || s.Live() != n || s.High != n {
		f.t.Errorf("%s: %d of %d taken; %d accepted, %d live, at most %d", f.queue(), taken, len(f.told), s.Accepted, s.Live(), s.High)
	}
}
