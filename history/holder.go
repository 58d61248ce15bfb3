package history

import (
	"cmp"
	"maps"
	"slices"
)

// lives is how often the job was taken anew: 1, unless its ID was enqueued again after it had gone.
func (j *job) lives() int { return max(1, len(j.all(OpEnqueue, accepts))) }

// byNumber groups lines by the number of the attempt.
func byNumber(facts []*fact) map[int32][]*fact {
	out := map[int32][]*fact{}
	for _, f := range facts {
		out[f.number] = append(out[f.number], f)
	}
	return out
}

// oneHolder is I4.
func oneHolder(h *run, j *job, f finder) {
	attempts, ended := j.all(OpAttempt, nil), j.all(OpEnd, ok)
	if len(attempts)+len(ended) == 0 {
		return
	}
	f.Looked++
	lives := j.lives()
	h.onceEach(attempts, lives, func(n int, again []*fact) {
		f.found(j.violation("attempt %d was given %d times", again[0].number, n), again...)
	})
	h.onceEach(ended, lives, func(n int, again []*fact) {
		f.found(j.violation("attempt %d ended %d times, and was told so", again[0].number, n), again...)
	})
	tokens := map[uint64]*fact{}
	for _, a := range attempts {
		switch first := tokens[a.token]; {
		case a.token == 0 || first == nil:
		case first.number != a.number:
			f.found(j.violation("attempts %d and %d have one token", first.number, a.number), first, a)
		case first.process != a.process: // a server that forgot gives a number again, and never a token
			f.found(j.violation("two holders of attempt %d have one token", a.number), first, a)
		}
		tokens[a.token] = a
	}
	if lives == 1 {
		h.staleEnds(j, attempts, ended, f)
	}
}

// onceEach finds numbers that come more often than the job's lives and the deaths of servers allow: what was given again was
// to be forgotten before.
func (h *run) onceEach(facts []*fact, lives int, found func(int, []*fact)) {
	if len(facts) < 2 {
		return
	}
	groups := byNumber(facts)
	for _, number := range slices.Sorted(maps.Keys(groups)) {
		same := groups[number]
		slices.SortStableFunc(same, func(a, b *fact) int {
			return cmp.Or(cmp.Compare(a.claimed, b.claimed), cmp.Compare(a.done, b.done))
		})
		if len(same) > lives+h.loss.count(same[:len(same)-1]) {
			found(len(same), same)
		}
	}
}

// staleEnds finds attempts whose end was taken though a later one held the job: the call was made after that had begun.
func (h *run) staleEnds(j *job, attempts, ended []*fact, f finder) {
	for _, e := range ended {
		for _, a := range attempts {
			if a.number > e.number && e.begun > a.done && !h.loss.forgets(a) {
				f.found(j.violation("attempt %d ended, and was told so, while attempt %d held the job", e.number, a.number), a, e)
				return
			}
		}
	}
}
