package history

import "strings"

// eventPrefix stands before a topic's name where an event is told as a job.
const eventPrefix = "topic:"

// conserved is I1. Events are no jobs of a queue: what becomes of them is I13. Where there is an account at all it is of all
// queues.
func conserved(h *run, j *job, f finder) {
	if len(h.accounted) == 0 || strings.HasPrefix(j.queue, eventPrefix) {
		return
	}
	stands := j.all(OpJob, nil)
	told := j.all(OpEnqueue, ok)
	if len(stands) == 0 && len(told) == 0 {
		return
	}
	f.Looked++
	switch {
	case len(stands) > 1:
		f.found(j.violation("it stands in %d places", len(stands)), stands...)
	case len(stands) == 1:
		h.deletedIsGone(j, stands[0], f)
	case j.knownAsEnded() && !h.mustBeKnown(j):
	case h.loss.count(told) == len(told):
		h.forgotten++
	default:
		h.lost++
		f.found(j.violation("it was accepted, and is lost"), j.newest(mostLines)...)
	}
}

// deletedIsGone finds a job that stands although somebody was told that it was deleted, and nobody enqueued it since.
func (h *run) deletedIsGone(j *job, stands *fact, f finder) {
	gone := j.first(OpDelete, ok)
	if gone == nil || stands.onlyWindow || stands.code == deleted || h.loss.forgets(gone) {
		return
	}
	if !j.has(OpEnqueue, func(e *fact) bool { return notFailed(e) && e.done > gone.made() }) && !j.has(OpRow, notFailed) {
		f.found(j.violation("it was deleted, and told so, and stands as %s", stands.code), gone, stands)
	}
}

// knownAsEnded tells whether somebody was told that the job has ended, or may have deleted it.
func (j *job) knownAsEnded() bool {
	return j.has(OpEnd, ends) || j.has(OpDelete, notFailed) || j.has(OpWait, func(f *fact) bool { return terminal(f.code) || f.code == deleted })
}

// mustBeKnown tells whether a job that has ended must stand in the account all the same: its place in the window is not over.
func (h *run) mustBeKnown(j *job) bool {
	if h.window == 0 || j.has(OpDelete, notFailed) || h.loss.count(j.all(OpEnd, ends)) > 0 {
		return false
	}
	for _, f := range append(j.all(OpEnd, ends), j.all(OpWait, ok)...) {
		if f.made()+h.window <= h.last {
			return false
		}
	}
	return true
}

// newest are the last lines of the job.
func (j *job) newest(n int) (out []*fact) {
	for i := max(0, len(j.facts)-n); i < len(j.facts); i++ {
		out = append(out, &j.facts[i])
	}
	return out
}
