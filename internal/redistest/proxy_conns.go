package redistest

import (
	"maps"
	"net"
	"slices"
	"sync"
)

// Silence lets the connections that are open now pass nothing any more, and gives how many those are. They are not closed;
// new ones pass.
func (p *Proxy) Silence() int {
	open := p.open()
	for _, s := range open {
		s.silence()
	}
	return len(open)
}

// Cut resets the connections that are open now, and gives how many those were.
func (p *Proxy) Cut() int {
	open := p.open()
	for _, s := range open {
		s.close(true)
	}
	return len(open)
}

// Pause lets nothing pass until Resume, on connections that are open and on new ones: they are accepted.
func (p *Proxy) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused == nil {
		p.paused = make(chan struct{})
	}
}

// Resume ends Pause: what waits passes on.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused != nil {
		close(p.paused)
		p.paused = nil
	}
}

// gate is closed when the proxy isn't paused any more; nil where it is not paused.
func (p *Proxy) gate() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused
}

func (p *Proxy) open() []*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.sessions))
}

func (p *Proxy) accept(all *sync.WaitGroup) {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		s := p.enlist(conn)
		if s == nil {
			_ = conn.Close()
			return
		}
		all.Go(func() {
			defer p.strike(s)
			s.serve()
		})
	}
}

// enlist makes a connection one of the proxy's; nil where the proxy has ended.
func (p *Proxy) enlist(conn net.Conn) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil
	}
	p.conns++
	s := &session{p: p, number: p.conns, client: conn, ended: make(chan struct{})}
	p.sessions[s] = true
	return s
}

func (p *Proxy) strike(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, s)
}

// end closes all connections, and lets no new one in.
func (p *Proxy) end() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	for _, s := range p.open() {
		s.close(false)
	}
}
