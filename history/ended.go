package history

import (
	"cmp"
	"slices"
)

// deleted is the state of a job that was.
const deleted = "deleted"

// cut tells whether the job may be a dead one that was forgotten over the limits of count and age.
func (f *fact) cut() bool { return f.onlyWindow && f.code == deleted }

// requeues is how often the job may have been requeued.
func (j *job) requeues() int {
	n := len(j.all(OpRequeue, notFailed))
	for _, s := range j.all(OpJob, nil) {
		n = max(n, int(s.requeues))
	}
	return n
}

// oneEnd is I5.
func oneEnd(h *run, j *job, f finder) {
	ended := j.all(OpEnd, ends)
	if len(ended) == 0 {
		return
	}
	f.Looked++
	slices.SortStableFunc(ended, func(a, b *fact) int { return cmp.Compare(a.done, b.done) })
	more := j.lives() - 1 + j.requeues()
	if len(ended) > 1+more+h.loss.count(ended[:len(ended)-1]) {
		f.found(j.violation("it ended %d times", len(ended)), ended...)
		return
	}
	if more+h.loss.count(ended) > 0 || j.has(OpDelete, notFailed) {
		return // which end counts can't be known
	}
	end := ended[0]
	if later := j.first(OpAttempt, func(a *fact) bool { return a.number > end.number }); later != nil {
		f.found(j.violation("it was delivered after it had ended"), end, later)
	}
	if stands := j.first(OpJob, nil); stands != nil {
		j.standsAsItEnded(end, stands, f)
	}
}

// standsAsItEnded compares the account with the end that a worker was told.
func (j *job) standsAsItEnded(end, stands *fact, f finder) {
	if stands.cut() && end.code == "dead" {
		return
	}
	if stands.code != end.code {
		f.found(j.violation("it ended %s, and stands as %s", end.code, stands.code), end, stands)
		return
	}
	by := j.all(OpAttempt, func(a *fact) bool { return a.number == end.number && a.token != 0 })
	for _, a := range by {
		if stands.token == 0 || a.token == stands.token { // a server that forgot gives a number again
			return
		}
	}
	if len(by) > 0 {
		f.found(j.violation("its record names another attempt's token than that which ended it"), append(by, end, stands)...)
	}
}
