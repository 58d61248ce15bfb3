package process_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

const (
	capacity  = 100
	producers = 50
	each      = 100 // jobs of a producer
)

// ledger is what producers were told and handlers did, by job ID.
type ledger struct {
	mu   sync.Mutex
	told map[string]waybill.Outcome
	done map[string]int
}

func (l *ledger) tell(id string, o waybill.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told[id] = o
}

func (l *ledger) asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.told)
}

// handle fails every second job at first.
func (l *ledger) handle(_ context.Context, a *waybill.Attempt) ([]byte, error) {
	if a.Failures == 0 && a.ID[len(a.ID)-1]%2 == 0 {
		return nil, errors.New("no luck at first")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[a.ID]++
	return nil, nil
}

// TestR19_fullQueueHonestAnswers: 50 producers with three policies send 5,000 jobs into a queue of
// 100, workers fail half of them at first, and Redis is killed twice. Every job was told what became
// of it, and that was true.
func TestR19_fullQueueHonestAnswers(t *testing.T) {
	t.Parallel()
	// Redis hands every write to the system before it answers, so a kill loses none.
	s := newScene(t, redistest.AOF(), redistest.Config("appendfsync", "no"))
	most := int64(capacity)
	must(t, s.Queue(queue).Set(t.Context(), waybill.QueueSettings{Capacity: &most}))
	l := &ledger{told: map[string]waybill.Outcome{}, done: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var workers, watchers, senders sync.WaitGroup
	for range 2 {
		w, err := waybill.NewWorker(s.Client, waybill.WorkerOptions{
			Queues: []waybill.QueueOptions{{Name: queue, Concurrency: 20}}, Retry: waybill.Fixed(20 * time.Millisecond),
		})
		must(t, err)
		w.HandleFunc(waybill.AnyKind, waybill.KindOptions{}, l.handle)
		workers.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	var samples atomic.Int64
	watchers.Go(func() { sample(ctx, t, s, &samples) })
	for p := range producers {
		senders.Go(func() { produce(t, s, l, p) })
	}
	for kill := 1; kill <= 2; kill++ {
		until(t, "a third of the answers more", func() bool { return l.asked() >= kill*producers*each/3 })
		s.server.Kill()
		s.server.Restart()
	}
	senders.Wait()
	got := s.settled()
	stop()
	workers.Wait()
	watchers.Wait()
	if got.High > capacity || samples.Load() < 10 {
		t.Errorf("high-water mark %d, %d samples", got.High, samples.Load())
	}
	l.check(t)
}

// sample looks at the queue again and again: never more live jobs than its capacity.
func sample(ctx context.Context, t *testing.T, s *scene, samples *atomic.Int64) {
	for ctx.Err() == nil {
		got, err := s.Queue(queue).Stats(ctx)
		if err != nil { // Redis is away
			continue
		}
		samples.Add(1)
		if live := got.Live() - got.Spilled; live > capacity {
			t.Errorf("%d jobs are live", live)
		}
	}
}

// produce sends the jobs of one producer, and notes each answer.
func produce(t *testing.T, s *scene, l *ledger, p int) {
	policy := []waybill.FullPolicy{waybill.FullReject, waybill.FullPolicy(time.Second), waybill.FullSpill}[p%3]
	for i := range each {
		id := fmt.Sprintf("%d-%d", p, i)
		e, err := s.Enqueue(t.Context(), waybill.Request{Queue: queue, Kind: "k", ID: id, OnFull: policy})
		if (err == nil) != e.Outcome.Taken() || e.ID != id {
			t.Errorf("%s is answered by %+v, %v", id, e, err)
		}
		l.tell(id, e.Outcome)
	}
}

// check compares what was told with what was done.
func (l *ledger) check(t *testing.T) {
	counts, sum := map[waybill.Outcome]int{}, 0
	for id, outcome := range l.told {
		counts[outcome]++
		sum++
		switch n := l.done[id]; {
		case outcome.Taken() && n != 1:
			t.Errorf("%s was %s and done %d times", id, outcome, n)
		case !outcome.Taken() && outcome != waybill.OutcomeUnknown && n != 0:
			t.Errorf("%s was %s and done %d times", id, outcome, n)
		case n > 1:
			t.Errorf("%s was done %d times", id, n)
		}
	}
	t.Logf("told: %v; done: %d", counts, len(l.done))
	if sum != producers*each {
		t.Errorf("%d answers to %d jobs: %v", sum, producers*each, counts)
	}
	for _, must := range []waybill.Outcome{waybill.OutcomeAccepted, waybill.OutcomeSpilled, waybill.OutcomeRejected} {
		if counts[must] == 0 {
			t.Errorf("no job was %s: %v", must, counts)
		}
	}
}
