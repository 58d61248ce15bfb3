package model

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// states of the places.
var states = map[place]store.State{
	ready: store.Ready, urgent: store.Ready, suspects: store.Ready, parked: store.Parked, due: store.Scheduled,
	retry: store.RetryState, overflow: store.SpilledState, leases: store.ActiveState, dead: store.DeadState,
}

// Get is store.Queue.Get; ok is false where nothing is known.
func (q *Queue) Get(id string) (info store.Info, ok bool) {
	now := time.UnixMilli(q.Now)
	j := q.jobs[id]
	if j == nil {
		known := q.remembered(id)
		if len(known) == 0 {
			return store.Info{ID: id, State: "gone", Now: now}, false
		}
		e := known[len(known)-1]
		return store.Info{ID: id, State: letters[e.letter], Token: strings.TrimLeft(e.token, "-!"), Now: now}, true
	}
	info = q.info(j)
	info.Now = now
	for _, line := range q.faults[id] {
		var e store.Error
		_ = json.Unmarshal([]byte(line), &e) // lines are made by store.Error
		info.Errors = append(info.Errors, e)
	}
	if c, asked := q.cancels[id]; asked {
		_, info.Reason, _ = strings.Cut(c, " ")
		info.CancelRequested = j.at == leases
	}
	if p, told := q.progress[id]; told {
		info.Progress = &p
	}
	info.Result, info.ResultDropped = q.result(id)
	return info, true
}

func (q *Queue) result(id string) (result []byte, dropped bool) {
	r := q.results[id]
	if r == "" || r[0] == '!' {
		return nil, r != ""
	}
	return []byte(r[1:]), false
}

// letters are the states that the letters of a window entry stand for.
var letters = map[byte]store.State{'c': store.CompletedState, 'x': store.CancelledState, 'd': store.DeletedState}

// Ends is store.Queue.Ends.
func (q *Queue) Ends(ids []string) []store.JobEnd {
	out := make([]store.JobEnd, len(ids))
	for i, id := range ids {
		out[i] = q.jobEnd(id)
	}
	return out
}

func (q *Queue) jobEnd(id string) (e store.JobEnd) {
	j, r, known := q.jobs[id], q.runs[id], q.remembered(id)
	switch {
	case j != nil && j.live():
		return e
	case j != nil && j.at == dead:
		e.State = store.DeadState
	case j != nil || len(known) == 0 && r != nil:
		e.State = store.State(r.outcome) // its record may have gone by its TTL
	case len(known) > 0:
		e.State = letters[known[len(known)-1].letter]
	default:
		return store.JobEnd{State: store.GoneState}
	}
	switch lines := q.faults[id]; e.State {
	case store.CompletedState:
		e.Result, e.ResultDropped = q.result(id)
	case store.CancelledState:
		_, e.Reason, _ = strings.Cut(q.cancels[id], " ")
	case store.DeadState:
		if len(lines) > 0 {
			var last store.Error
			_ = json.Unmarshal([]byte(lines[len(lines)-1]), &last) // lines are made by store.Error
			e.LastError = last.Message
		}
	}
	return e
}

// info is what an index entry, its run and its record tell.
func (q *Queue) info(j *job) store.Info {
	info := store.Info{ID: j.add.ID, State: states[j.at]}
	if rec, err := record.Parse([]byte(j.raw())); err == nil {
		info.Record = &rec
	}
	if r := q.runs[j.add.ID]; r != nil {
		info.Attempt, info.Failures, info.Crashes, info.Snoozes = r.attempts, r.failures, r.crashes, r.snoozes
		info.Token = strings.TrimLeft(r.token, "-!")
		info.StartedAt, info.EndedAt = moment(r.started), moment(r.ended)
	}
	switch j.at {
	case done:
		info.State = store.State(q.runs[j.add.ID].outcome)
	case leases:
		info.LeaseEndsAt = moment(j.score)
	case due, retry:
		info.NextAt = moment(j.score)
	case dead:
		info.EndedAt = moment(j.score)
	}
	return info
}

func moment(ms int64) (t time.Time) {
	if ms > 0 {
		t = time.UnixMilli(ms)
	}
	return t
}

// List gives all entries of a state in order, as store.Queue.All does. Errors are ErrNotFound, for
// ended jobs whose record went by its TTL.
func (q *Queue) List(state store.State) (out []store.Entry) {
	order := places[state]
	switch state {
	case store.Ready:
		order = []place{urgent, ready, suspects}
	case store.ActiveState:
		order = []place{leases}
	}
	for _, at := range order {
		for _, el := range q.elements(at) {
			id := el[16:]
			j := q.jobs[id]
			if at == ready && q.inLine(el) == nil {
				continue // a ghost is no job
			}
			if at == done && (j == nil || j.element() != el) {
				out = append(out, store.Entry{ID: id, Member: el, Err: store.ErrNotFound})
				continue
			}
			out = append(out, store.Entry{ID: id, Member: q.member(j), Info: q.info(j)})
		}
	}
	return out
}

// Stats is store.Queue.Stats.
func (q *Queue) Stats() store.Stats {
	n := func(at place) int64 { return int64(len(q.in(at))) }
	c := q.counts
	s := store.Stats{
		Queue: q.name, Now: time.UnixMilli(q.Now),
		Ready: n(ready) + n(urgent) + n(suspects), Urgent: n(urgent), Scheduled: n(due), Retry: n(retry), Parked: n(parked),
		Active: n(leases), Spilled: n(overflow), Dead: n(dead), Kept: int64(len(q.done)),
		Capacity: store.Unlimited, High: q.high, OldestReady: q.oldest(), PausedBy: q.settings["paused"],
		HorizonNamed: q.horizon(q.named), HorizonGenerated: q.horizon(q.generated),
		Accepted: c["accepted"], Requeued: c["requeued"], Completed: c["completed"], Died: c["died"],
		Cancelled: c["cancelled"], Deleted: c["deleted"], Deliveries: c["deliveries"], Failures: c["failures"],
		Crashes: c["crashes"], Snoozes: c["snoozes"], Released: c["released"], Stale: c["stale"],
		Duplicates: c["duplicates"], Conflicts: c["conflicts"], Rejected: c["rejected"], DeadCut: c["dead_cut"],
		Orphans: c["orphans"], Effects: c["effects"], Suppressed: c["suppressed"], Mismatches: c["mismatches"],
	}
	if capacity, ok := q.capacity(); ok {
		s.Capacity = capacity
	}
	for _, cl := range q.claims {
		if cl.at > q.Now-30_000 {
			s.Workers++
		}
	}
	return s
}

// oldest is the age of the oldest of those that stand first: in line, by class, among suspects.
func (q *Queue) oldest() time.Duration {
	var heads []*job
	for _, el := range q.line[:min(len(q.line), 100)] {
		if j := q.inLine(el); j != nil {
			heads = append(heads, j)
			break
		}
	}
	heads = append(heads, first(q.in(urgent), 1)...)
	heads = append(heads, first(q.in(suspects), 1)...)
	age := time.Duration(-1)
	for _, j := range heads {
		age = max(age, 0, time.Duration(q.Now-j.born)*time.Millisecond)
	}
	return age
}

// horizon is how far back a repeat of an ended job is surely known.
func (q *Queue) horizon(w window) time.Duration {
	from := w.before
	if w.at == 0 {
		from = q.created
	}
	if from == 0 {
		return 0
	}
	return max(0, time.Duration(q.Now-from)*time.Millisecond)
}
