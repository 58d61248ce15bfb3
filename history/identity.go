package history

import (
	"cmp"
	"slices"
)

// oneIdentity is I7.
func oneIdentity(h *run, j *job, f finder) {
	told := j.all(OpEnqueue, ok)
	if len(told) == 0 {
		return
	}
	f.Looked++
	slices.SortStableFunc(told, func(a, b *fact) int { return cmp.Compare(a.done, b.done) })
	first, taken := told[0], (*fact)(nil)
	for _, t := range told {
		anew := accepts(t)
		if taken != nil && anew && !h.mayBeTakenAgain(j, taken, t) {
			f.found(j.violation("it was accepted twice"), taken, t)
			return
		}
		if t.fingerprint != first.fingerprint && t.fingerprint != 0 && first.fingerprint != 0 && !(anew && taken != nil) {
			f.found(j.violation("its ID was taken for two payloads"), first, t)
			return
		}
		if anew {
			first, taken = t, t
		}
	}
}

// mayBeTakenAgain tells whether the job may have been unknown when it was accepted again: forgotten, deleted, or ended longer
// ago than ended jobs are known.
func (h *run) mayBeTakenAgain(j *job, before, again *fact) bool {
	if h.loss.forgets(before) || j.has(OpDelete, notFailed) {
		return true
	}
	return h.window > 0 && j.has(OpEnd, func(e *fact) bool {
		return ends(e) && h.earliest(j, e)+h.window <= again.done
	})
}

// earliest is the first moment at which an end may have been recorded: its attempt had begun.
func (h *run) earliest(j *job, end *fact) int64 {
	if a := j.first(OpAttempt, func(a *fact) bool { return a.number == end.number }); a != nil {
		return a.done
	}
	return end.made()
}
