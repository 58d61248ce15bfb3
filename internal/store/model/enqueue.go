package model

import (
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// Enqueue is store.Queue.Enqueue.
func (q *Queue) Enqueue(adds []store.Add, spill bool) []store.Enqueued {
	capacity, bounded := q.capacity()
	head, waiting := q.soonest(due)
	later, waitingRetry := q.soonest(retry)
	taken, tally := []*job{}, map[store.Outcome]int64{}
	out := make([]store.Enqueued, len(adds))
	for i, a := range adds {
		word := q.judge(&job{add: a})
		switch {
		case word == "" && a.Back != nil && isEnded(a.Back.State):
			q.recall(a)
			tally[store.Accepted]--
			word = store.Accepted
		case word == "":
			word = q.admit(&taken, a, spill)
		}
		tally[word]++
		out[i] = store.Enqueued{Outcome: word, Capacity: -1}
	}
	for i := range out {
		if bounded {
			out[i].Capacity, out[i].Depth = capacity, q.live()
		}
	}
	q.arrange(taken)
	if len(taken) > 0 {
		q.raise()
	}
	first, now := q.soonest(due)
	q.bell = q.bell || now && (!waiting || first < head)
	first, now = q.soonest(retry)
	q.bell = q.bell || now && (!waitingRetry || first < later)
	q.count("accepted", tally[store.Accepted]+tally[store.Spilled])
	q.count("duplicates", tally[store.Duplicate])
	q.count("conflicts", tally[store.Conflict])
	q.count("rejected", tally[store.Full])
	return out
}

// judge says what a known ID answers; "": it is not known.
func (q *Queue) judge(j *job) store.Outcome {
	id := j.add.ID
	if old := q.jobs[id]; old != nil {
		if old.fingerprint() == j.fingerprint() && old.outbox() == j.outbox() {
			return store.Duplicate
		}
		return store.Conflict
	}
	if known := q.remembered(id); len(known) > 0 {
		if known[len(known)-1].fingerprint == j.fingerprint() {
			return store.Duplicate
		}
		return store.Conflict
	}
	if _, told := q.told[j.outbox()][id]; told && j.outbox() != record.NoOutbox {
		return store.Duplicate // it ended or was requeued, and its relay has not read that yet
	}
	return ""
}

// admit takes a job in, where there is room or a spill.
func (q *Queue) admit(taken *[]*job, a store.Add, spill bool) store.Outcome {
	capacity, bounded := q.capacity()
	full := bounded && q.live() >= capacity
	if b := a.Back; b != nil && full && b.State != store.DeadState || b == nil && full && !spill {
		return store.Full
	}
	q.seq++
	j := &job{add: a, seq: q.seq, born: q.Now, at: ready}
	if a.Back != nil {
		full, j.born = false, a.Back.EnqueuedAt.UnixMilli()
		if a.Back.State == store.DeadState {
			j.at = dead
		}
	}
	if full {
		q.wait(j, overflow, int64(q.seq))
	}
	q.clear(a.ID) // what an ended job of this ID left that is not swept yet
	q.jobs[a.ID] = j
	*taken = append(*taken, j)
	if q.created == 0 {
		q.created = q.Now
	}
	if full {
		return store.Spilled
	}
	return store.Accepted
}

// arrange puts what one call brought into its places: plain jobs first, in order, then the others.
func (q *Queue) arrange(taken []*job) {
	plain := func(j *job) bool {
		return j.add.Back == nil && j.add.Priority == 0 && !j.add.LIFO && j.add.Job.At.IsZero() && j.add.Job.Delay.Milliseconds() == 0
	}
	for _, j := range taken {
		if j.at == ready && plain(j) {
			q.put(j, false)
			q.ring()
		}
	}
	for _, j := range taken {
		if j.at != ready || plain(j) || j.add.Back != nil {
			continue
		}
		if at := j.dueAt(q.Now); at > q.Now {
			q.wait(j, due, at)
			continue
		}
		q.put(j, false)
		q.ring()
	}
	for _, j := range taken {
		if j.add.Back != nil {
			q.bring(j)
		}
	}
}

func isEnded(s store.State) bool { return s == store.CompletedState || s == store.CancelledState }

// recall remembers an ended job that is brought back.
func (q *Queue) recall(a store.Add) {
	letter := byte('c')
	if a.Back.State == store.CancelledState {
		letter = 'x'
	}
	q.remember(&job{add: a}, letter, "-")
	if q.created == 0 {
		q.created = q.Now
	}
}

// bring puts a job that is brought back where it was.
func (q *Queue) bring(j *job) {
	b := j.add.Back
	if b.Attempt > 0 || b.State == store.DeadState {
		r := &run{b.Attempt, b.Failures, b.Crashes, b.Snoozes, "-", "retry", 0, q.Now}
		if b.State == store.DeadState {
			r.outcome = "dead"
		}
		q.runs[j.add.ID] = r
	}
	for _, e := range b.Errors {
		q.faults[j.add.ID] = append(q.faults[j.add.ID], e.Line())
	}
	at := b.At.UnixMilli()
	switch {
	case b.State == store.DeadState:
		q.wait(j, dead, min(at, q.Now))
		q.count("died", 1)
	case b.State == store.RetryState && at > q.Now:
		q.wait(j, retry, at)
	case b.State == store.Scheduled && at > q.Now:
		q.wait(j, due, at)
	case b.Crashes > 1:
		q.wait(j, suspects, q.Now)
		q.ring()
	default:
		q.lineUp(j)
		q.ring()
	}
}

// lineUp puts a job that is brought back behind those of its class, whatever its order.
func (q *Queue) lineUp(j *job) {
	if j.add.Priority == 0 {
		j.at, j.score = ready, 0
		q.line = append(q.line, j.element())
		return
	}
	j.at, j.score = urgent, int64(record.MaxPriority-j.add.Priority)*one+half+int64(j.seq)
}
