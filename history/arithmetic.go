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
	for _, a := range j.all(OpAttempt, nil) {
		if a.number > stands.number && !h.loss.forgets(a) {
			f.found(j.violation("attempt %d was given, and %d are counted", a.number, stands.number), a, stands)
			return
		}
	}
}
