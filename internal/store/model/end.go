package model

import (
	"fmt"

	"github.com/waybillhq/waybill/internal/record"
)

// entry is what the window remembers of an ended job.
type entry struct {
	fingerprint string
	letter      byte   // c completed, x cancelled, d deleted
	token       string // of the attempt that ended it; "-": none did
}

func (e entry) String() string { return e.fingerprint + string(e.letter) + e.token }

// window remembers ended jobs of one source of IDs for at least span, and for no more than two
// generations: a turn forgets the older one.
type window struct {
	span        int64 // default, ms
	generations [2]map[string]entry
	current     int
	at, before  int64 // beginning of the current and of the older generation; 0: not turned yet
}

func newWindow(span int64) window {
	return window{span: span, generations: [2]map[string]entry{{}, {}}}
}

func (q *Queue) windowOf(named bool) *window {
	if named {
		return &q.named
	}
	return &q.generated
}

// remembered gives all that the windows know of an ID, oldest key first.
func (q *Queue) remembered(id string) []entry {
	var out []entry
	for _, w := range []*window{&q.generated, &q.named} {
		for _, g := range w.generations {
			if e, ok := g[id]; ok {
				out = append(out, e)
			}
		}
	}
	return out
}

func (q *Queue) remember(j *job, letter byte, token string) {
	w := q.windowOf(j.add.Job.Named)
	w.generations[w.current][j.add.ID] = entry{j.fingerprint(), letter, token}
}

// forget makes the windows forget an ID.
func (q *Queue) forget(id string) (n int) {
	for _, w := range []*window{&q.generated, &q.named} {
		for _, g := range w.generations {
			if _, ok := g[id]; ok {
				n++
				delete(g, id)
			}
		}
	}
	return n
}

// turn begins a new generation where the current one is old or full.
func (q *Queue) turn(w *window, name string) {
	at := w.at
	if at == 0 {
		at = q.created
	}
	span, _ := q.limit("window_"+name, w.span)
	most, _ := q.limit("window_count", 1_000_000)
	if q.Now < at+span && int64(len(w.generations[w.current])) < most {
		return
	}
	w.current = 1 - w.current
	w.generations[w.current] = map[string]entry{}
	w.at, w.before = max(at, q.Now), at
}

// tell leaves word for the job's outbox.
func (q *Queue) tell(j *job, word string) {
	box := j.outbox()
	if box == record.NoOutbox {
		return
	}
	if q.told[box] == nil {
		q.told[box] = map[string]string{}
	}
	q.tellings++
	q.told[box][j.add.ID] = fmt.Sprintf("%s %d %d", word, q.tellings, q.Now)
}

// Relayed is the outbox's relay when it has read and removed all that it was told.
func (q *Queue) Relayed(outbox byte) { delete(q.told, outbox) }

func (q *Queue) news(j *job, word string) { q.News = append(q.News, j.add.ID+" "+word) }

// finish ends a job as completed or cancelled; it stays readable for ttl.
func (q *Queue) finish(j *job, outcome string, r *run, ttl int64) {
	letter, word := byte('c'), "ack"
	if outcome == "cancelled" {
		letter, word = 'x', outcome
	}
	q.remember(j, letter, r.token)
	if ttl > 0 {
		j.at = done
		q.done[j.element()] = q.Now + ttl
		q.saveRun(j.add.ID, r, outcome)
		if outcome == "completed" {
			delete(q.cancels, j.add.ID) // it was asked for too late
		}
	} else {
		delete(q.jobs, j.add.ID)
		q.clear(j.add.ID)
	}
	q.tell(j, word)
	q.count(outcome, 1)
	q.news(j, outcome)
}

// bury ends a job as dead. A cancel that was asked for is moot.
func (q *Queue) bury(j *job, r *run) {
	q.wait(j, dead, q.Now)
	q.saveRun(j.add.ID, r, "dead")
	delete(q.cancels, j.add.ID)
	q.tell(j, "dead")
	q.count("died", 1)
	q.news(j, "dead")
}

// cut forgets dead jobs over the count, or else over the age; a bounded number.
func (q *Queue) cut(bound int64) {
	most, counted := q.limit("dead_count", 10_000)
	age, aged := q.limit("dead_age", 7_776_000_000)
	all := q.in(dead)
	var over []*job
	if counted && int64(len(all)) > most {
		over = all[:min(int64(len(all))-most, bound)]
	} else if aged {
		for _, j := range all {
			if j.score <= q.Now-age && int64(len(over)) < bound {
				over = append(over, j)
			}
		}
	}
	for _, j := range over {
		q.remember(j, 'd', "-")
		q.tell(j, "deleted")
		q.clear(j.add.ID)
		delete(q.jobs, j.add.ID)
	}
	q.count("dead_cut", int64(len(over)))
}
