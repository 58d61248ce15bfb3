package history

// rounding is by how much two readings of one clock may differ in whole milliseconds.
const rounding = 2

// notEarly is I10. It goes by Redis's clock, and where the enqueue was seen by the machine's too, which nobody sets. Where
// Redis's clock was set during the run, a job that had become due stays so: early is what its jumps do not explain.
func notEarly(h *run, j *job, f finder) {
	if j.has(OpPromote, notFailed) {
		return
	}
	sent := int64(0) // when the first enqueue was made, ns
	delay := int64(0)
	for _, e := range j.all(OpEnqueue, notFailed) {
		if sent == 0 || e.made() < sent {
			sent, delay = e.made(), e.delay
		}
	}
	for _, a := range j.all(OpAttempt, func(a *fact) bool { return a.claimed > 0 && a.due > 0 }) {
		f.Looked++
		switch {
		case a.claimed+h.jump < a.due:
			f.found(j.violation("attempt %d was claimed %d ms before it was due", a.number, a.due-a.claimed), a)
			return
		case delay > 0 && h.jump == 0 && a.done < sent+(delay-rounding)*ms:
			f.found(j.violation("attempt %d began %d ms after the enqueue, with a delay of %d", a.number, (a.done-sent)/ms, delay), a)
			return
		}
	}
}
