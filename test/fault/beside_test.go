package fault_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

const besideJobs = 10_000 // of each state; the million is in bench/scale

// TestS20_changesBesideABusyQueue: 30,000 jobs are listed, requeued, deleted and purged while another queue
// works. No command takes long, the other queue's jobs begin about as soon as before, and a purge tells how far it is, can
// be stopped, and goes on where it was. Times are those of the best of three rounds: a busy machine spoils some.
func TestS20_changesBesideABusyQueue(t *testing.T) {
	t.Parallel()
	for round := 1; ; round++ {
		m := besideBusy(t)
		t.Logf("longest command %s, %s; the other queue's jobs began after %s, before %s (99 of 100), %s (all)", m.verb, m.command, m.beside, m.before, m.worst)
		const asked = 25 * time.Millisecond
		if m.command <= max(asked, 2*m.worst) && m.beside <= max(asked, 2*m.before) {
			return
		}
		if round == 3 || t.Failed() {
			t.Error("in none of the rounds was it quick")
			return
		}
	}
}

// besides are the longest command during the changes, and how soon jobs of the other queue began: 99 of 100 and all of
// them before, and 99 of 100 meanwhile.
type besides struct {
	command               time.Duration
	verb                  string // of that command
	before, worst, beside time.Duration
}

func besideBusy(t *testing.T) (m besides) {
	t.Helper()
	r := newRig(t, redistest.Config("slowlog-log-slower-than", "1000"), redistest.Config("slowlog-max-len", "100000")) // µs
	big := r.beside.Queue("big")
	none := int64(waybill.Unlimited)
	must(t, big.Set(t.Context(), waybill.QueueSettings{DeadCount: &none}))
	fillBig(t, r)
	p := &picked{begun: make(chan struct{}, 1)}
	r.start(waybill.WorkerOptions{Grace: time.Millisecond}, p.run)
	stop := during(func(int) { p.send(t.Context(), r) })
	defer stop()
	within(t, latest, "the other queue is measured", func() bool { return p.count() >= 200 })
	m.before, m.worst = p.take()
	must(t, r.direct.Do(t.Context(), "SLOWLOG", "RESET").Err())
	changeBig(t, big)
	within(t, latest, "it is measured meanwhile", func() bool { return p.count() >= 200 })
	m.beside, _ = p.take()
	slow, err := r.direct.SlowLogGet(t.Context(), -1).Result()
	must(t, err)
	verbs := store.Digests()
	for _, l := range slow {
		if l.Duration > m.command {
			m.command, m.verb = l.Duration, l.Args[0]
			if verb, ok := verbs[l.Args[min(1, len(l.Args)-1)]]; ok {
				m.verb = verb
			}
		}
	}
	return m
}

// fillBig makes jobs that are ready, due later, and dead.
func fillBig(t *testing.T, r *rig) {
	t.Helper()
	for from := 0; from < besideJobs; from += 1000 {
		requests, dead := make([]waybill.Request, 2000), make([]waybill.JobInfo, 1000)
		for i := range dead {
			requests[i] = waybill.Request{Queue: "big", Kind: "k", ID: name("ready-", from+i)}
			requests[1000+i] = waybill.Request{Queue: "big", Kind: "k", ID: name("later-", from+i), Delay: time.Hour}
			dead[i] = waybill.JobInfo{ID: name("dead-", from+i), Kind: "k", Known: true, State: waybill.StateDead, Attempt: 1, Failures: 1}
		}
		_, err := r.beside.EnqueueMany(t.Context(), requests)
		must(t, err)
		_, err = r.beside.Queue("big").Restore(t.Context(), dead)
		must(t, err)
	}
}

// changeBig does what an operator does to many jobs.
func changeBig(t *testing.T, big *waybill.Queue) {
	t.Helper()
	ctx := t.Context()
	for _, s := range []waybill.State{waybill.StateReady, waybill.StateScheduled, waybill.StateDead} {
		n := 0
		for _, err := range big.Jobs(ctx, waybill.Filter{States: []waybill.State{s}}) {
			must(t, err)
			if n++; n == 50 { // a page
				break
			}
		}
	}
	all := func(what string, got waybill.BulkResult, err error) {
		t.Helper()
		if err != nil || got.Changed != besideJobs {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	got, err := big.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{})
	all("requeue", got, err)
	later := waybill.Filter{States: []waybill.State{waybill.StateScheduled}}
	got, err = big.DeleteAll(ctx, later, waybill.DeleteOptions{}, waybill.BulkOptions{})
	all("delete", got, err)

	stopping, stop := context.WithCancel(ctx)
	defer stop()
	told := 0
	first, err := big.Purge(stopping, waybill.StateReady, waybill.BulkOptions{Progress: func(b waybill.BulkResult) {
		if told++; b.Changed >= besideJobs {
			stop()
		}
	}})
	if !errors.Is(err, context.Canceled) || first.Changed < besideJobs || first.Changed >= 2*besideJobs || told < 2 {
		t.Errorf("a purge that was stopped: %+v, %v, told %d times", first, err, told)
	}
	second, err := big.Purge(ctx, waybill.StateReady, waybill.BulkOptions{})
	if err != nil || first.Changed+second.Changed != 2*besideJobs {
		t.Errorf("the rest of the purge: %+v, %v, after %d", second, err, first.Changed)
	}
}

// picked measures how soon jobs of the other queue begin, one after the other.
type picked struct {
	begun chan struct{}

	mu    sync.Mutex
	waits []time.Duration
}

// send enqueues a job that says when, and waits until it has begun.
func (p *picked) send(ctx context.Context, r *rig) {
	if _, err := work.Enqueue(ctx, r.client, int(time.Now().UnixNano())); err != nil {
		return // what is measured is then too little, and the test fails
	}
	select {
	case <-p.begun:
	case <-time.After(latest):
	}
}

func (p *picked) run(_ context.Context, job *waybill.Job[int]) error {
	p.mu.Lock()
	p.waits = append(p.waits, time.Since(time.Unix(0, int64(job.Args))))
	p.mu.Unlock()
	p.begun <- struct{}{}
	return nil
}

func (p *picked) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waits)
}

// take gives the 99th percentile and the longest of what was measured since the last time.
func (p *picked) take() (most, all time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.waits)
	most, all = p.waits[len(p.waits)*99/100], p.waits[len(p.waits)-1]
	p.waits = nil
	return most, all
}
