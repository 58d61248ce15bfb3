package model

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// Claim is store.Queue.Claim.
func (q *Queue) Claim(c store.Claim) store.Claimed {
	out := store.Claimed{Now: time.UnixMilli(q.Now), Jobs: []store.Delivery{}}
	if last := q.claims[c.Worker]; last != nil && c.Number <= last.number {
		out.Late, out.Again = c.Number < last.number, c.Number == last.number
		if out.Again {
			out.Jobs = q.again(c, last)
		}
		return out
	}
	q.fresh, q.aside = false, false
	q.upkeep(c)
	_, out.Paused = q.settings["paused"]
	p := &pick{q: q, c: c, room: maps.Clone(c.Room)}
	if c.Most > 0 && !out.Paused {
		p.choose()
	}
	out.Jobs = append(out.Jobs, p.jobs...)
	q.claims[c.Worker] = &claim{c.Number, q.Now, p.elements}
	q.count("deliveries", int64(len(p.jobs)))
	if !out.Paused {
		out.Left, out.Parked = int64(len(q.line)+len(q.in(urgent))), int64(len(q.in(parked)))
		q.fresh = q.fresh || c.Most > 0 && p.enough() && out.Parked > 0
		q.bell = q.bell || out.Left > 0 || q.fresh
	}
	if q.aside {
		q.Control = append(q.Control, "parked")
	}
	out.Next = q.next()
	return out
}

// again repeats what a claim was answered before, as far as it is still held.
func (q *Queue) again(c store.Claim, last *claim) []store.Delivery {
	out := []store.Delivery{}
	for _, el := range last.elements {
		j := q.jobs[el[16:]]
		if j == nil || j.at != leases {
			continue
		}
		r := q.runs[j.add.ID]
		if r.token == token(r.attempts, c) && j.element() == el {
			d := q.delivery(j, c)
			d.Deadline = time.UnixMilli(last.at).Add(c.Lease) // renewed or not: a worker may rely on it
			out = append(out, d)
		}
	}
	return out
}

func token(attempt int, c store.Claim) string {
	return fmt.Sprintf("%d-%s.%d", attempt, c.Worker, c.Number)
}

func (q *Queue) delivery(j *job, c store.Claim) store.Delivery {
	r := q.runs[j.add.ID]
	return store.Delivery{
		ID: j.add.ID, Token: r.token, Element: j.element(),
		Attempt: r.attempts, Failures: r.failures, Crashes: r.crashes, Snoozes: r.snoozes,
		Record: []byte(j.raw()), Deadline: time.UnixMilli(j.score),
	}
}

// next is when something becomes claimable or a lease runs out.
func (q *Queue) next() (t time.Time) {
	for _, at := range []place{due, retry, leases} {
		if s, ok := q.soonest(at); ok && (t.IsZero() || s < t.UnixMilli()) {
			t = time.UnixMilli(s)
		}
	}
	return t
}

// pick chooses the jobs of one claim.
type pick struct {
	q        *Queue
	c        store.Claim
	jobs     []store.Delivery
	elements []string
	bytes    int
	suspect  bool           // one was taken
	room     map[string]int // of kinds with a bound: how many more of them
	aside    int            // how many were put where another worker finds them
}

func (p *pick) enough() bool { return len(p.jobs) >= p.c.Most || p.bytes >= p.limit() }

func (p *pick) limit() int {
	if p.c.Bytes == 0 {
		return store.ClaimBytes
	}
	return p.c.Bytes
}

// choose goes through the places: a suspect, parked jobs, urgent ones, the line, then what is less
// than urgent. Of each it looks at no more than it still wants.
func (p *pick) choose() {
	q := p.q
	if p.c.Suspect {
		p.consider(first(q.in(suspects), 1))
	}
	p.considerParked()
	p.considerUrgent(above)
	p.walk()
	p.considerUrgent(below)
}

// considerUrgent looks at as many as it wants; and at a hundred more where some of those were put aside.
func (p *pick) considerUrgent(class func(*job) bool) {
	all, n, aside := first(p.q.in(urgent), 1<<30, class), p.wanted(), p.aside
	n = min(n, len(all))
	p.consider(all[:n])
	if p.aside > aside {
		p.consider(first(all[n:], phase))
	}
}

func (p *pick) wanted() int { return p.c.Most - len(p.jobs) }

func above(j *job) bool { return j.add.Priority > 0 }
func below(j *job) bool { return j.add.Priority < 0 }

// first gives the first n jobs that keep the conditions.
func first(of []*job, n int, conditions ...func(*job) bool) (out []*job) {
	for _, j := range of {
		ok := len(out) < n
		for _, c := range conditions {
			ok = ok && c(j)
		}
		if ok {
			out = append(out, j)
		}
	}
	return out
}

// considerParked goes through the parked jobs of kinds that the worker knows and has room for: in the order
// of its kinds, or as they were numbered, each in theirs.
func (p *pick) considerParked() {
	all, kinds := p.q.in(parked), p.c.Kinds
	if len(kinds) == 0 && len(p.room) == 0 {
		p.consider(first(all, p.c.Most))
		return
	}
	if len(kinds) == 0 {
		kinds = p.q.kinds
	}
	for _, kind := range kinds {
		n := p.wanted()
		if room, bounded := p.room[kind]; bounded {
			n = min(n, room)
		}
		p.consider(first(all, n, func(j *job) bool { return j.add.Job.Kind == kind }))
	}
}

// walk goes along the line: as many elements as jobs are wanted, and as many more as there are
// ghosts (to 100), which may stand in front. Where some were put aside it goes on, for a hundred.
func (p *pick) walk() {
	aside := p.aside
	p.along(p.wanted() + int(min(p.q.ghosts(), phase)))
	if p.aside > aside {
		p.along(phase)
	}
}

func (p *pick) along(n int) {
	q := p.q
	for ; n > 0 && len(q.line) > 0 && !p.enough(); n-- {
		j := q.inLine(q.line[0])
		q.line = q.line[1:]
		if j != nil {
			p.look(j)
		}
	}
}

func (p *pick) consider(jobs []*job) {
	for _, j := range jobs {
		if !p.enough() {
			p.look(j)
		}
	}
}

// look takes a job, or puts it where another worker finds it.
func (p *pick) look(j *job) {
	q, r, kind := p.q, p.q.runOf(j.add.ID), j.add.Job.Kind
	room, bounded := p.room[kind]
	switch {
	case len(p.c.Kinds) > 0 && !slices.Contains(p.c.Kinds, kind), bounded && room < 1:
		p.aside++
		q.park(j)
	case r.crashes > 1 && (p.suspect || !p.c.Suspect):
		p.aside++
		q.wait(j, suspects, q.Now)
	default:
		if bounded {
			p.room[kind]--
		}
		p.suspect = p.suspect || r.crashes > 1
		p.take(j, r)
	}
}

func (p *pick) take(j *job, r *run) {
	q := p.q
	r.attempts++
	r.token, r.outcome, r.started, r.ended = token(r.attempts, p.c), "active", q.Now, 0
	q.runs[j.add.ID] = r
	q.wait(j, leases, q.Now+p.c.Lease.Milliseconds())
	p.jobs = append(p.jobs, q.delivery(j, p.c))
	p.elements = append(p.elements, j.element())
	p.bytes += len(j.raw())
}

// park sets a job aside for workers that know its kind and have room for it.
func (q *Queue) park(j *job) {
	n := slices.Index(q.kinds, j.add.Job.Kind)
	if n < 0 {
		n = len(q.kinds)
		q.kinds = append(q.kinds, j.add.Job.Kind)
	}
	q.wait(j, parked, int64(n+1))
	q.fresh, q.aside = true, true
}
