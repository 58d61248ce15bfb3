package main

import "sync"

// groups are the process groups that run now.
type groups struct {
	mu  sync.Mutex
	all map[group]bool
}

func (s *groups) add(g group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[group]bool{}
	}
	s.all[g] = true
}

func (s *groups) remove(g group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, g)
}

// kill ends all of them at once.
func (s *groups) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for g := range s.all {
		g.kill()
	}
}
