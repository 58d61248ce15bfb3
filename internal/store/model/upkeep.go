package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/store"
)

// upkeep makes work runnable, in the order in which DESIGN names it. Each part is bounded.
func (q *Queue) upkeep(c store.Claim) {
	q.clampLeases()
	expired := q.in(leases)
	for i, j := range expired {
		if i < phase && j.score <= q.Now {
			q.takeBack(j, c.Lease.Milliseconds())
		}
	}
	q.promoteDue(due)
	q.promoteDue(retry)
	q.readmit()
	q.sweep()
	q.cut(2 * phase)
	if q.created > 0 {
		q.turn(&q.generated, "generated")
		q.turn(&q.named, "named")
	}
	q.retire(c.Worker)
}

// clampLeases cuts deadlines further off than the longest lease: the clock went back.
func (q *Queue) clampLeases() {
	n := 0
	for _, j := range q.in(leases) {
		if j.score > q.Now+hour && n < phase {
			j.score = q.Now + hour
			n++
		}
	}
}

// lostMark stands before the token of an attempt that lost its lease.
const lostMark = "!"

// takeBack ends an attempt whose lease ran out: a crash, not a failure.
func (q *Queue) takeBack(j *job, lease int64) {
	id, r := j.add.ID, q.runs[j.add.ID]
	r.crashes++
	q.count("crashes", 1)
	_, worker, _ := strings.Cut(r.token, "-")
	worker, _, _ = strings.Cut(worker, ".")
	q.fault(id, store.Error{Attempt: r.attempts, At: q.Now, Type: "crash", Message: "worker lost", Worker: worker}.Line())
	r.token = lostMark + r.token // no settle can ever name it
	allowance, bounded := q.limit("crash_allowance", 5)
	_, cancelled := q.cancels[id]
	switch {
	case cancelled:
		q.finish(j, "cancelled", r, max(j.retention(), hour))
	case bounded && int64(r.crashes) > allowance:
		q.bury(j, r)
	default:
		q.saveRun(id, r, "lost")
		q.comeBack(j, r.crashes, lease)
	}
}

// comeBack puts a job in front after its first crash; after a later one it waits a while, longer each time.
func (q *Queue) comeBack(j *job, crashes int, lease int64) {
	if crashes < 2 {
		q.put(j, true)
		return
	}
	least, most := int64(1), lease
	for range crashes - 2 {
		least, most = min(2*least, hour), min(2*most, hour)
	}
	q.wait(j, retry, q.Back(j.element(), q.Now+min(least, hour), q.Now+min(most, hour)))
}

// promoteDue makes claimable what is due. What crashed twice goes to the suspects.
func (q *Queue) promoteDue(from place) {
	for i, j := range q.in(from) {
		if i >= phase || j.score > q.Now {
			return
		}
		if q.runOf(j.add.ID).crashes > 1 {
			q.wait(j, suspects, q.Now)
			q.fresh = true
		} else {
			q.put(j, false)
		}
	}
}

// readmit lets spilled jobs in, in their order, as far as there is room.
func (q *Queue) readmit() {
	room := int64(phase)
	if capacity, bounded := q.capacity(); bounded {
		room = min(room, capacity-(q.live()-q.spilled()))
	}
	waiting := q.in(overflow)
	for i, j := range waiting {
		if int64(i) >= room {
			break
		}
		if at := j.dueAt(j.born); at > q.Now {
			q.wait(j, due, at)
		} else {
			q.put(j, false)
		}
	}
	if room > 0 && len(waiting) > 0 {
		q.raise()
	}
}

// sweep clears what is left of ended jobs whose retention is over.
func (q *Queue) sweep() {
	for _, el := range q.ended(q.Now, phase) {
		id := el[16:]
		delete(q.done, el)
		if j := q.jobs[id]; j != nil && j.element() != el {
			continue // the ID has a new job
		}
		delete(q.jobs, id)
		delete(q.results, id)
		q.clear(id)
	}
}

// ended gives the elements of ended jobs whose retention ends by a time, at most n, soonest first.
func (q *Queue) ended(by int64, n int) []string {
	els := []string{}
	for el, at := range q.done {
		if at <= by {
			els = append(els, el)
		}
	}
	slices.SortFunc(els, func(a, b string) int {
		return cmp.Or(cmp.Compare(q.done[a], q.done[b]), cmp.Compare(a, b))
	})
	return els[:min(n, len(els))]
}

// Expire lets the TTLs of ended jobs fire whose retention is over: their records and results go,
// before any sweep. It gives their IDs.
func (q *Queue) Expire() (ids []string) {
	for _, el := range q.ended(q.Now, len(q.done)) {
		id := el[16:]
		if j := q.jobs[id]; j != nil && j.element() == el {
			delete(q.jobs, id)
			delete(q.results, id)
			ids = append(ids, id)
		}
	}
	return ids
}

// retire forgets workers that have not claimed for an hour: not at once, now and then.
func (q *Queue) retire(but string) {
	for w, c := range q.claims {
		if c.at < q.Now-hour && w != but && q.Retired(w) {
			delete(q.claims, w)
		}
	}
}
