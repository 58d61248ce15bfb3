package model

import (
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// each does one thing to each of the IDs.
func (q *Queue) each(ids []string, do func(j *job) store.Change) []store.Change {
	out := make([]store.Change, len(ids))
	for i, id := range ids {
		if j := q.jobs[id]; j != nil {
			out[i] = do(j)
		} else {
			out[i] = store.Absent
		}
	}
	return out
}

// Cancel is store.Queue.Cancel.
func (q *Queue) Cancel(reason string, ids ...string) []store.Change {
	return q.each(ids, func(j *job) store.Change {
		switch {
		case j.at == leases:
			q.ask(j.add.ID, reason)
			q.Control = append(q.Control, "cancel "+j.add.ID)
			return store.Requested
		case !j.live():
			return store.Ended
		}
		q.leave(j)
		delete(q.cancels, j.add.ID)
		q.ask(j.add.ID, reason)
		q.finish(j, "cancelled", q.runOf(j.add.ID), max(j.retention(), hour))
		return store.Cancelled
	})
}

// Delete is store.Queue.Delete.
func (q *Queue) Delete(o store.DeleteOptions, ids ...string) []store.Change {
	out := q.each(ids, func(j *job) store.Change {
		if j.at == leases && !o.Force {
			return store.Active
		}
		was := j.at
		q.leave(j)
		if was == done && !o.Forget {
			q.rememberEnded(j)
		}
		q.drop(j, was, !o.Forget)
		if was <= leases {
			q.count("deleted", 1)
		}
		if o.Forget {
			q.forget(j.add.ID)
		}
		return store.Deleted
	})
	for i, id := range ids {
		if out[i] == store.Absent && o.Forget && q.forget(id) > 0 {
			out[i] = store.Forgotten
		}
	}
	return out
}

// rememberEnded remembers an ended job anew: its record stood in for the window, which may have turned.
func (q *Queue) rememberEnded(j *job) {
	letter, r := byte('c'), q.runs[j.add.ID]
	if r.outcome == "cancelled" {
		letter = 'x'
	}
	q.remember(j, letter, r.token)
}

// drop removes a job with all that belongs to it.
func (q *Queue) drop(j *job, was place, remember bool) {
	id := j.add.ID
	delete(q.done, j.element())
	delete(q.results, id)
	delete(q.jobs, id)
	q.clear(id)
	if was == done { // it was remembered and told when it ended
		return
	}
	if remember {
		q.remember(j, 'd', "-")
	}
	q.tell(j, "deleted")
	q.news(j, "deleted")
}

// Requeue is store.Queue.Requeue.
func (q *Queue) Requeue(ids ...string) []store.Change {
	n := int64(0)
	out := q.each(ids, func(j *job) store.Change {
		if j.at != dead {
			return store.WrongState
		}
		if capacity, bounded := q.capacity(); bounded && q.live() >= capacity {
			return store.FullNow
		}
		r := q.runs[j.add.ID]
		r.failures, r.crashes = 0, 0
		q.saveRun(j.add.ID, r, "requeued")
		q.put(j, false)
		q.tell(j, "live")
		n++
		return store.Requeued
	})
	q.count("requeued", n)
	if n > 0 {
		q.raise()
		q.ring()
	}
	return out
}

// Promote is store.Queue.Promote.
func (q *Queue) Promote(ids ...string) []store.Change {
	return q.each(ids, func(j *job) store.Change {
		if j.at != due && j.at != retry {
			return store.WrongState
		}
		if q.runOf(j.add.ID).crashes > 1 {
			q.wait(j, suspects, q.Now)
		} else {
			q.put(j, false)
		}
		q.ring()
		return store.Promoted
	})
}

// places of the states that can be purged, in the order of purging.
var places = map[store.State][]place{
	store.Ready: {ready, urgent, suspects}, store.Scheduled: {due}, store.RetryState: {retry}, store.Parked: {parked},
	store.SpilledState: {overflow}, store.DeadState: {dead}, store.EndedState: {done},
}

// Purge is store.Queue.Purge.
func (q *Queue) Purge(state store.State, most int) store.Purged {
	var out store.Purged
	for _, at := range places[state] {
		els := q.elements(at)
		looked := els[:min(len(els), most)]
		most -= len(looked)
		if at == ready {
			q.line = slices.Clone(els[len(looked):])
		}
		for _, el := range looked {
			out.Deleted += q.purge(at, el)
		}
		out.Left += int64(len(els) - len(looked))
	}
	if state != store.DeadState && state != store.EndedState {
		q.count("deleted", out.Deleted)
	}
	return out
}

// purge removes the job behind an element, if there is one: 1, or 0.
func (q *Queue) purge(at place, el string) int64 {
	j := q.jobs[el[16:]]
	if at == done {
		delete(q.done, el)
	}
	switch {
	case j == nil && at == done: // its record went by its TTL
		q.clear(el[16:])
	case j != nil && j.at == at && j.element() == el:
		q.drop(j, at, true)
		return 1
	}
	return 0
}

// elements of a place in its order; of the line with ghosts, of the ended with expired records.
func (q *Queue) elements(at place) (out []string) {
	switch at {
	case ready:
		return q.line
	case done:
		return q.ended(1<<62, 1<<62)
	}
	for _, j := range q.in(at) {
		out = append(out, j.element())
	}
	return out
}

// Configure is store.Queue.Configure.
func (q *Queue) Configure(s store.Settings) {
	ms := func(d *time.Duration) *int64 {
		if d == nil || *d == store.Unlimited {
			return (*int64)(d)
		}
		n := d.Milliseconds()
		return &n
	}
	for name, v := range map[string]*int64{
		"capacity": s.Capacity, "crash_allowance": s.CrashAllowance, "dead_count": s.DeadCount, "dead_age": ms(s.DeadAge),
		"window_generated": ms(s.WindowGenerated), "window_named": ms(s.WindowNamed), "window_count": s.WindowCount,
	} {
		switch {
		case v == nil:
		case *v == store.Unlimited:
			q.set(name, "unlimited")
		default:
			q.set(name, strconv.FormatInt(*v, 10))
		}
	}
}

// Pause is store.Queue.Pause.
func (q *Queue) Pause(by string) {
	q.set("paused", by)
}

// Resume is store.Queue.Resume.
func (q *Queue) Resume() {
	if _, was := q.settings["paused"]; was {
		q.Control = append(q.Control, "resumed")
	}
	q.set("paused", "")
	delete(q.settings, "paused")
}

func (q *Queue) set(name, value string) {
	q.settings[name] = value
	if q.created == 0 {
		q.created = q.Now
	}
	q.ring() // a pause may be over, or there is room
}

// SetRaw sets a field of the settings behind the back of the store, as a test may.
func (q *Queue) SetRaw(name, value string) {
	q.settings[name] = value
}
