package runner

import "sync"

// gate lets one suspect at a time run in a worker. A claim that may bring one holds it, and then the suspect itself,
// until its end is recorded or given up.
type gate struct {
	mu      sync.Mutex
	taken   bool
	refused map[*Runner]struct{} // since it was taken
}

// enter is false where another holds the gate.
func (g *gate) enter(r *Runner) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.taken {
		g.taken = true
		return true
	}
	if g.refused == nil {
		g.refused = map[*Runner]struct{}{}
	}
	g.refused[r] = struct{}{}
	return false
}

// leave opens the gate after a claim that brought no suspect. Whoever was refused has its next look: were it called now,
// claims that find nothing would call each other.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open()
}

// passed opens the gate after a suspect, whose runner may have more, as all that were refused meanwhile.
func (g *gate) passed(r *Runner) {
	g.mu.Lock()
	waiting := g.open()
	g.mu.Unlock()
	r.Nudge()
	for other := range waiting {
		other.Nudge()
	}
}

func (g *gate) open() map[*Runner]struct{} {
	refused := g.refused
	g.taken, g.refused = false, nil
	return refused
}
