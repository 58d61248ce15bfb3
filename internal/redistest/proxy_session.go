package redistest

import (
	"io"
	"net"
	"sync"
	"time"
)

// session is one connection of a client and the one to the server that belongs to it. One goroutine reads requests, one
// reads replies.
type session struct {
	p         *Proxy
	number    int
	client    net.Conn
	server    net.Conn // nil until it is dialled
	handshake handshake
	ended     chan struct{} // closed when both sides are

	mu      sync.Mutex
	closed  bool
	silent  bool
	listens bool   // it asked for messages: what comes may answer nothing
	pending []call // whose replies are awaited, in order
}

// call is a request on its way.
type call struct {
	Request
	fate Fate
	sent bool // false: nothing is awaited; its fate is due when those before it have their replies
}

// serve passes one connection on until it ends.
func (s *session) serve() {
	defer s.close(false)
	if !s.open() {
		return
	}
	replies := make(chan struct{})
	go func() {
		defer close(replies)
		s.back()
	}()
	s.forth()
	if s.isSilent() {
		s.close(false)
	}
	<-replies
}

// open dials the server, once the proxy isn't paused.
func (s *session) open() bool {
	if !s.wait(s.p.gate()) {
		return false
	}
	server, err := net.Dial(s.p.network, s.p.server) //nolint:noctx // it lives as long as the test
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = server.Close()
		return false
	}
	s.server = server
	return true
}

// forth passes requests on until the client ends. The server is told so then, and what it still answers is awaited.
func (s *session) forth() {
	defer closeWrite(s.server)
	in := newFrames(s.client)
	for {
		raw, err := in.request()
		if err != nil {
			return
		}
		if s.isSilent() {
			continue
		}
		if !s.pass(raw) {
			_, _ = io.Copy(io.Discard, s.client)
			return
		}
	}
}

// pass does with one request what its fate says; false where none is sent on behind it.
func (s *session) pass(raw []byte) bool {
	r := s.p.request(s.number, raw)
	if r.Verb == "" { // the server answers such a line with nothing, or ends the connection
		return s.send(raw)
	}
	if !s.wait(s.p.askHold(r, Written)) {
		return false
	}
	fate, delay := s.p.askFate(r)
	if !s.sleep(delay) {
		return false
	}
	switch fate {
	case Again:
		s.p.keep(fate, s.handshake.before(r))
	case HalfOpen:
		s.p.count(fate)
		s.silence()
		return true
	case Reset:
		s.p.count(fate)
		s.close(true)
		return false
	case DropRequest, CutRequest, Late:
		s.last(call{Request: r, fate: fate})
		return false
	}
	s.await(call{Request: r, fate: fate, sent: true})
	s.handshake.note(r)
	return s.send(raw) && fate != DropReply && fate != CutReply
}

// send writes to the server, once the proxy isn't paused.
func (s *session) send(raw []byte) bool {
	if !s.wait(s.p.gate()) {
		return false
	}
	if !s.isSilent() {
		_, _ = s.server.Write(raw) // a server that is gone shows when its reply is read
	}
	return true
}

func (s *session) await(c call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, c)
	s.listens = s.listens || listening[c.Verb]
}

// last is the end of the connection by a request that is not sent on whole, once all before it have their replies.
func (s *session) last(c call) {
	s.mu.Lock()
	wait := len(s.pending) > 0
	if wait {
		s.pending = append(s.pending, c)
	}
	s.mu.Unlock()
	if !wait {
		s.final(c)
	}
}

func (s *session) final(c call) {
	switch c.fate {
	case Late:
		s.p.keep(c.fate, s.handshake.before(c.Request))
	case CutRequest:
		_, _ = s.server.Write(c.Raw[:len(c.Raw)/2])
		s.p.count(c.fate)
	default:
		s.p.count(c.fate)
	}
	s.close(false)
}

// wait waits until a channel is closed, where there is one; false where the connection ended first.
func (s *session) wait(for_ <-chan struct{}) bool {
	if for_ == nil {
		return true
	}
	select {
	case <-for_:
		return true
	case <-s.ended:
		return false
	}
}

func (s *session) sleep(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
		return true
	case <-s.ended:
		return false
	}
}

func (s *session) silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = true
}

func (s *session) isSilent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent
}

// close ends both sides. It may be called more than once.
func (s *session) close(reset bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.ended)
	if tcp, ok := s.client.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = s.client.Close()
	if s.server != nil {
		_ = s.server.Close()
	}
}

func closeWrite(c net.Conn) {
	if c, ok := c.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}
