package runner

import "sync"

// Roster knows the jobs whose handlers run, those too that were given up: none of them begins a second time beside
// itself. What shares one keeps out of each other's way. The zero value is ready; it is safe for concurrent use.
type Roster struct {
	mu   sync.Mutex
	jobs map[rosterKey]struct{}
}

type rosterKey struct{ queue, id string }

// enter is false where a handler of the job runs already.
func (r *Roster) enter(queue, id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := rosterKey{queue, id}
	if _, runs := r.jobs[key]; runs {
		return false
	}
	if r.jobs == nil {
		r.jobs = map[rosterKey]struct{}{}
	}
	r.jobs[key] = struct{}{}
	return true
}

func (r *Roster) leave(queue, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.jobs, rosterKey{queue, id})
}
