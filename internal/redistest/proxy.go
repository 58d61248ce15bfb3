package redistest

import (
	"bytes"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Proxy stands between clients and a server. It passes everything on until it is told to cut:
// then the next request that holds a given text reaches the server, and its reply does not come
// back; the connection ends instead. So a call is carried out and its caller does not know.
type Proxy struct {
	t        testing.TB
	listener net.Listener
	network  string
	server   string

	mu    sync.Mutex
	text  []byte // of requests whose reply is lost
	times int
	cuts  int
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
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text, p.times = []byte(text), n
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
	replies := make(chan struct{})
	lose := make(chan struct{})
	go func() {
		defer close(replies)
		defer conn.Close()
		p.back(conn, server, lose)
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buf)
		if n > 0 && p.loses(buf[:n]) {
			close(lose)
		}
		if n > 0 {
			_, _ = server.Write(buf[:n])
		}
		if err != nil {
			break
		}
	}
	_ = server.Close()
	<-replies
}

// back passes replies to the client; the first one after lose is closed is swallowed, with the connection.
func (p *Proxy) back(conn io.Writer, server io.Reader, lose <-chan struct{}) {
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		select {
		case <-lose:
			return
		default:
		}
		if n > 0 {
			_, _ = conn.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) loses(request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == 0 || !bytes.Contains(request, p.text) {
		return false
	}
	p.times--
	p.cuts++
	return true
}
