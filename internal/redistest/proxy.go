package redistest

import (
	"bytes"
	"io"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Proxy stands between clients and a server. It passes everything on until it is told otherwise: the reply to a
// request may be lost and its connection with it, so a call is carried out and its caller does not know; and
// connections may fall silent without being closed, as behind a box that forgot them.
type Proxy struct {
	t        testing.TB
	listener net.Listener
	network  string
	server   string

	mu    sync.Mutex
	lose  func(request []byte) bool // nil = none
	cuts  int
	alive []*atomic.Bool // a flag a connection: false = silent
}

// NewProxy starts a proxy before a server. It ends with the test.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(s.Dir(), "p")) //nolint:noctx // it lives as long as the test
	if err != nil {
		t.Fatalf("redistest: proxy: %v", err)
	}
	p := &Proxy{t: t, listener: l, network: s.Network(), server: s.Addr()}
	var all sync.WaitGroup
	all.Go(func() { p.accept(&all) })
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return p
}

// Client returns a new client that speaks through the proxy.
func (p *Proxy) Client() *redis.Client { return newClient(p.t, "unix", p.listener.Addr().String()) }

// URL is the proxy's address in the form that redis.ParseURL reads.
func (p *Proxy) URL() string { return "unix://" + p.listener.Addr().String() }

// LoseReplies loses the replies of the next n requests that hold text.
func (p *Proxy) LoseReplies(text string, n int) {
	p.LoseWhere(func(request []byte) bool {
		if n == 0 || !bytes.Contains(request, []byte(text)) {
			return false
		}
		n--
		return true
	})
}

// LoseWhere loses the reply of each request of which lose says so; nil loses none. lose is called for one request
// at a time.
func (p *Proxy) LoseWhere(lose func(request []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = lose
}

// Silence lets the connections that are open now pass nothing any more. They are not closed; new ones pass.
func (p *Proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.alive {
		a.Store(false)
	}
	p.alive = nil
}

// Cuts counts the replies that were lost.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

func (p *Proxy) accept(all *sync.WaitGroup) {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		all.Go(func() { p.serve(conn) })
	}
}

// serve passes one connection on. Clients here send a request and wait for its reply, so a read
// from the client is one request or a part of a large one.
func (p *Proxy) serve(conn net.Conn) {
	defer conn.Close()
	server, err := net.Dial(p.network, p.server) //nolint:noctx // it lives as long as the test
	if err != nil {
		return
	}
	defer server.Close()
	alive := p.enlist()
	replies := make(chan struct{})
	lose := make(chan struct{})
	go func() {
		defer close(replies)
		p.back(conn, server, lose, alive)
	}()
	p.forth(conn, server, lose, alive)
	_ = server.Close()
	<-replies
}

func (p *Proxy) enlist() *atomic.Bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	alive := &atomic.Bool{}
	alive.Store(true)
	p.alive = append(p.alive, alive)
	return alive
}

// forth passes requests to the server until the client ends.
func (p *Proxy) forth(conn io.Reader, server io.Writer, lose chan<- struct{}, alive *atomic.Bool) {
	buf := make([]byte, 64<<10)
	for lost := false; ; {
		n, err := conn.Read(buf)
		if n > 0 && alive.Load() {
			if !lost && p.loses(buf[:n]) {
				lost = true
				close(lose)
			}
			_, _ = server.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// back passes replies to the client; the first one after lose is closed is swallowed, with the connection.
func (p *Proxy) back(conn io.WriteCloser, server io.Reader, lose <-chan struct{}, alive *atomic.Bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if !alive.Load() {
			return // and the client is not told
		}
		select {
		case <-lose:
			_ = conn.Close()
			return
		default:
		}
		if n > 0 {
			_, _ = conn.Write(buf[:n])
		}
		if err != nil {
			_ = conn.Close()
			return
		}
	}
}

func (p *Proxy) loses(request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lose == nil || !p.lose(request) {
		return false
	}
	p.cuts++
	return true
}
