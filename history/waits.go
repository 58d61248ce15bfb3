package history

// waitsTell is I14.
func waitsTell(h *run, j *job, f finder) {
	for _, w := range j.all(OpWait, func(w *fact) bool { return w.outcome == OK && living[w.code] }) {
		f.Looked++
		f.found(j.violation("a wait came back, and told that it is %s", w.code), w)
	}
	for _, w := range j.all(OpWait, func(w *fact) bool { return terminal(w.code) || w.code == deleted }) {
		f.Looked++
		if late := h.late(j, w); h.wait > 0 && late > h.wait {
			f.found(j.violation("a wait came back %d ms after the end, of %d allowed", late, h.wait), w)
		}
		if by := h.contradicts(j, w); by != nil {
			f.found(j.violation("a wait told that it is %s, and %s", w.code, contradiction(by)), w, by)
		}
	}
}

// living are the states in which a job has not ended.
var living = map[string]bool{"ready": true, "scheduled": true, "retry": true, "parked": true, "active": true, "spilled": true}

// late is by how much a wait came back after the job's end, in ms: as its line says, or from when a worker was told of it.
func (h *run) late(j *job, wait *fact) int64 {
	if wait.late > 0 || j.lives() > 1 || j.requeues() > 0 {
		return wait.late
	}
	end := j.first(OpEnd, ends)
	if end == nil || h.loss.forgets(end) {
		return 0
	}
	return (wait.done - max(end.done, wait.begun)) / ms
}

// contradicts gives a line that says otherwise than a wait.
func (h *run) contradicts(j *job, wait *fact) *fact {
	if j.lives() > 1 || j.requeues() > 0 || h.loss.forgets(wait) || j.has(OpDelete, notFailed) {
		return nil // it may have been in several states
	}
	if s := j.first(OpJob, nil); s != nil && s.code != wait.code && !(s.cut() && wait.code == "dead") {
		return s
	}
	end := j.first(OpEnd, ends)
	switch {
	case end == nil:
		return nil
	case end.code != wait.code || end.begun > wait.done:
		return end
	}
	return j.first(OpAttempt, func(a *fact) bool { return a.number == end.number && a.done > wait.done })
}

// contradiction says what a line says.
func contradiction(by *fact) string {
	switch by.op {
	case OpJob:
		return "it stands as " + by.code
	case OpAttempt:
		return "the attempt that ended it began later"
	}
	return "its handler returned later, or it ended as another: " + by.code
}
