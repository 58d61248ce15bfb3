package history

// refusedIsNot is I3.
func refusedIsNot(h *run, j *job, f finder) {
	sent := h.sent(j)
	if len(sent) == 0 {
		return
	}
	for _, s := range sent {
		if s.op == OpRow || notFailed(s) {
			return
		}
	}
	f.Looked++
	there := append(j.all(OpAttempt, nil), j.all(OpJob, nil)...)
	if w := h.effects[j.key]; w != nil {
		there = append(there, w.rows...)
	}
	if len(there) > 0 {
		f.found(j.violation("it was refused, and is there all the same"), append(sent, there...)...)
	}
}

// rowsMatch is I12. Rows of events that were committed are I13's.
func rowsMatch(h *run, j *job, f finder) {
	rows := j.all(OpRow, nil)
	if len(rows) == 0 {
		return
	}
	f.Looked++
	there := append(append(j.all(OpEnqueue, ok), j.all(OpAttempt, nil)...), j.all(OpJob, nil)...)
	committed := j.first(OpRow, ok)
	switch {
	case committed == nil && !j.has(OpRow, notFailed) && len(there) > 0:
		f.found(j.violation("its row was rolled back, and it is there all the same"), append(rows, there...)...)
	case committed == nil || j.has(OpJob, nil) || j.knownAsEnded() || j.has(OpEnqueue, ok): // the last is I1's
	case !h.accounted[j.queue]:
	case h.loss.after(committed):
		h.forgotten++
	default:
		h.lost++
		f.found(j.violation("its row was committed, and it was never enqueued, or is lost"), j.newest(mostLines)...)
	}
}
