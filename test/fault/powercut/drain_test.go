package powercut_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// keysLeft is how many keys two queues may keep once all their jobs are gone: what is the queues' own, and what the window
// remembers.
const keysLeft = 24

// drain works off what is left in an image, and checks that each job that had not ended is run once, in its next attempt,
// that nothing else is run, and that the tokens of before have no power.
func (m *image) drain() {
	m.t.Helper()
	held := map[string][]string{wide: m.leases(wide), tight: m.leases(tight)}
	var mu sync.Mutex
	ran := map[name][]int{}
	w, err := waybill.NewWorker(m.client, waybill.WorkerOptions{
		Queues: []waybill.QueueOptions{{Name: wide, Concurrency: 20}, {Name: tight, Concurrency: 20}},
	})
	must(m.t, err)
	work.Handle(w, func(_ context.Context, job *waybill.Job[task]) error {
		mu.Lock()
		defer mu.Unlock()
		of := name{job.Queue, job.ID}
		ran[of] = append(ran[of], job.Number)
		return nil
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(m.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	m.rest()
	cancel()
	must(m.t, <-ended)
	for of, info := range m.jobs {
		switch live := info.FinishedAt.IsZero(); {
		case live && !slices.Equal(ran[of], []int{info.Attempt + 1}):
			m.say("job %v was %s in attempt %d, and then attempts %v were run", of, info.State, info.Attempt, ran[of])
		case !live && ran[of] != nil:
			m.say("job %v had ended as %s, and was run in attempts %v", of, info.State, ran[of])
		}
		delete(ran, of)
	}
	for of, numbers := range ran {
		m.say("job %v stood nowhere, and was run in attempts %v", of, numbers)
	}
	for queue, members := range held {
		m.late(queue, members)
	}
}

// rest waits until no job is live.
func (m *image) rest() {
	m.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		live := int64(0)
		for _, q := range []string{wide, tight} {
			s, err := m.client.Queue(q).Stats(m.t.Context())
			must(m.t, err)
			live += s.Live()
		}
		if live == 0 {
			return
		}
		if time.Since(began) > time.Minute {
			m.say("%d jobs are live after a minute's work", live)
			return
		}
	}
}

// leases are the attempts that held a job when the power was cut.
func (m *image) leases(queue string) []string {
	m.t.Helper()
	members, err := m.rdb.ZRange(m.t.Context(), "wb:{"+queue+"}:leases", 0, -1).Result()
	must(m.t, err)
	return members
}

// late settles attempts of before the cut after everything: they must have no power.
func (m *image) late(queue string, members []string) {
	m.t.Helper()
	s, err := store.New(m.rdb, store.Options{})
	must(m.t, err)
	defer s.Close()
	q, err := s.Queue(queue)
	must(m.t, err)
	items := make([]store.Settlement, len(members))
	for i, member := range members {
		items[i] = store.Settlement{Member: member, Keep: record.LostKeep, End: store.Ack}
	}
	verdicts, err := q.Settle(m.t.Context(), items)
	must(m.t, err)
	for i, v := range verdicts {
		if v != store.Stale {
			m.say("a settlement of %s from before the cut is answered %q", members[i], v)
		}
	}
}

// purge deletes all jobs and checks that nothing of them is left.
func (m *image) purge() {
	m.t.Helper()
	for _, name := range []string{wide, tight} {
		for _, s := range []waybill.State{waybill.StateCompleted, waybill.StateCancelled, waybill.StateDead} {
			_, err := m.client.Queue(name).Purge(m.t.Context(), s, waybill.BulkOptions{})
			must(m.t, err)
		}
	}
	keys, err := m.rdb.Keys(m.t.Context(), "*").Result()
	must(m.t, err)
	if len(keys) > keysLeft {
		m.say("%d keys are left: %s", len(keys), strings.Join(keys[:keysLeft], " "))
	}
}
