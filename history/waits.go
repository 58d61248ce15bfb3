package history

// waitsTell is I14.
func waitsTell(h *run, j *job, f finder) {
	for _, w := range j.all(OpWait, func(w *fact) bool { return terminal(w.code) || w.code == deleted }) {
		f.Looked++
		if h.wait > 0 && w.late > h.wait {
			f.found(j.violation("a wait came back %d ms after the end, of %d allowed", w.late, h.wait), w)
		}
		if by := h.contradicts(j, w); by != nil {
			f.found(j.violation("a wait told that it is %s, and %s", w.code, contradiction(by)), w, by)
		}
	}
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
