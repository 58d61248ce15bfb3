package history

import "fmt"

// countsAddUp is I9: of each queue, and of each job.
func countsAddUp(h *run, f finder) {
	for i := range h.others[OpQueue] {
		q := &h.others[OpQueue][i]
		if q.Stats == nil {
			continue
		}
		f.Looked++
		q.addsUp(f)
		h.seen(q, f)
	}
	for _, j := range h.jobs {
		if s := j.first(OpJob, func(s *fact) bool { return !s.onlyWindow }); s != nil {
			f.Looked++
			h.attemptsAddUp(j, s, f)
		}
	}
}

// addsUp holds a queue's counters against each other.
func (l *line) addsUp(f finder) {
	in := l.sum("accepted", "requeued")
	out := l.sum("completed", "died", "cancelled", "deleted", "ready", "scheduled", "retry", "parked", "active", "spilled")
	if in != out {
		text := fmt.Sprintf("%d jobs were accepted or requeued, %d have ended or are live", in, out)
		f.found(Violation{Queue: l.Queue, Text: text}, l.fact())
	}
	// An attempt whose job was cancelled or deleted is in no counter of its own, nor one whose record was lost.
	deliveries := l.stat("deliveries")
	known := l.sum("completed", "failures", "crashes", "snoozes", "released", "active")
	if rest := deliveries - known; rest < 0 || rest > l.sum("cancelled", "deleted", "orphans") {
		text := fmt.Sprintf("of %d deliveries %d have ended or are active", deliveries, known)
		f.found(Violation{Queue: l.Queue, Text: text}, l.fact())
	}
}

// seen holds a queue's counters against what was seen of it: they can't be less.
func (h *run) seen(q *line, f finder) {
	if len(h.loss.deaths) > 0 {
		return // what was forgotten is in no counter
	}
	s := h.tallies()[q.Queue]
	for _, c := range []struct {
		name  string
		least int64
	}{{"accepted", s.accepted}, {"deliveries", s.attempts}, {"completed", s.completed}} {
		if _, told := q.Stats[c.name]; told && q.stat(c.name) < c.least {
			text := fmt.Sprintf("%s are counted as %d, and %d were seen", c.name, q.stat(c.name), c.least)
			f.found(Violation{Queue: q.Queue, Text: text}, q.fact())
		}
	}
}

// tally is what was seen of a queue.
type tally struct{ accepted, attempts, completed int64 }

// tallies counts them once.
func (h *run) tallies() map[string]tally {
	if h.tallied != nil {
		return h.tallied
	}
	h.tallied = map[string]tally{}
	for _, j := range h.jobs {
		s := h.tallied[j.queue]
		if j.has(OpEnqueue, accepts) {
			s.accepted++
		}
		s.attempts += int64(len(j.all(OpAttempt, nil)))
		if j.has(OpEnd, func(e *fact) bool { return ends(e) && e.code == "completed" }) {
			s.completed++
		}
		h.tallied[j.queue] = s
	}
	return h.tallied
}

// attemptsAddUp holds a job's counts against each other, and against what was seen of it.
func (h *run) attemptsAddUp(j *job, stands *fact, f finder) {
	known := stands.failures + stands.crashes + stands.snoozes
	if stands.code == "completed" {
		known++
	}
	if known > stands.number {
		f.found(j.violation("%d attempts, of which %d ended", stands.number, known), stands)
	}
	if j.lives() > 1 || j.has(OpDelete, notFailed) {
		return
	}
	completed := stands.code == "completed" && h.tallies()[j.queue].attempts > 0
	for _, a := range j.all(OpAttempt, nil) {
		if a.number > stands.number && !h.loss.forgets(a) {
			f.found(j.violation("attempt %d was given, and %d are counted", a.number, stands.number), a, stands)
			return
		}
		completed = completed && a.number != stands.number
	}
	if completed && len(h.loss.deaths) == 0 {
		f.found(j.violation("attempt %d completed it, and was never given", stands.number), stands)
	}
}
