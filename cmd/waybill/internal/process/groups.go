package process

import "sync"

// Groups are the process groups that run now. The zero value is ready. It is safe for concurrent use.
type Groups struct {
	mu  sync.Mutex
	all map[group]bool
}

func (s *Groups) add(g group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[group]bool{}
	}
	s.all[g] = true
}

func (s *Groups) remove(g group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, g)
}

// Kill ends all of them at once, by SIGKILL.
func (s *Groups) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for g := range s.all {
		g.kill()
	}
}
