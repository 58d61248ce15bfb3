package redistest

import (
	"bytes"
	"errors"
	"maps"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Proxy stands between clients and a server, and knows requests and replies apart. It passes everything on until it is
// told otherwise: see Decide, Hold and Delay for single requests, Silence, Cut and Pause for all connections. A server
// may die and come back behind it: open connections end, new ones are dialled anew. Commands after which replies don't
// come one a request (CLIENT REPLY) are not for it. Its methods are safe for concurrent use.
type Proxy struct {
	t        testing.TB
	listener net.Listener
	network  string
	server   string
	asking   sync.Mutex // held while a rule is asked

	mu       sync.Mutex
	rules    rules
	verbs    map[string]string // by script digest
	seen     map[string]int    // requests, by verb
	fired    map[Fate]int
	late     []kept
	conns    int
	sessions map[*session]bool
	paused   chan struct{} // closed by Resume; nil = not paused
	over     bool
}

// NewProxy starts a proxy before a server, on a unix socket, or on TCP where the server is. It ends with the test. A
// server may have many.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	l, err := listen(s)
	if err != nil {
		t.Fatalf("redistest: proxy: %v", err)
	}
	p := &Proxy{
		t: t, listener: l, network: s.Network(), server: s.Addr(),
		seen: map[string]int{}, fired: map[Fate]int{}, sessions: map[*session]bool{},
	}
	var all sync.WaitGroup
	all.Go(func() { p.accept(&all) })
	t.Cleanup(func() {
		_ = l.Close()
		p.end()
		all.Wait()
	})
	return p
}

// listen takes the first name in the server's directory that no other proxy has.
func listen(s *Server) (net.Listener, error) {
	if s.Network() == "tcp" {
		return net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it lives as long as the test
	}
	for n := 0; ; n++ {
		l, err := net.Listen("unix", filepath.Join(s.Dir(), "p"+strconv.Itoa(n))) //nolint:noctx // as above
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
}

// Client returns a new client that speaks through the proxy.
func (p *Proxy) Client() *redis.Client {
	return newClient(p.t, p.network, p.listener.Addr().String())
}

// URL is the proxy's address in the form that redis.ParseURL reads.
func (p *Proxy) URL() string {
	if p.network == "unix" {
		return "unix://" + p.listener.Addr().String()
	}
	return "redis://" + p.listener.Addr().String()
}

// Verbs names scripts by their digests, as store.Digests does: requests that call them have these verbs.
func (p *Proxy) Verbs(digests map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.verbs = maps.Clone(digests)
}

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
// at a time. It takes the place of Decide.
func (p *Proxy) LoseWhere(lose func(request []byte) bool) {
	if lose == nil {
		p.Decide(nil)
		return
	}
	p.Decide(func(r Request) Fate {
		if lose(r.Raw) {
			return DropReply
		}
		return Pass
	})
}

// Cuts counts the replies that were lost.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fired[DropReply]
}

// Faults counts what Decide gave, by fate, once it came about: a reply that never came is not lost. Pass is not counted.
func (p *Proxy) Faults() map[Fate]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.fired)
}

func (p *Proxy) count(f Fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fired[f]++
}

// request says of a frame what it is.
func (p *Proxy) request(conn int, raw []byte) Request {
	r := Request{Args: words(raw), Raw: raw, Conn: conn}
	if len(r.Args) == 0 {
		return r
	}
	r.Verb = strings.ToLower(string(r.Args[0]))
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(r.Args) > 1 && strings.HasPrefix(r.Verb, "evalsha") {
		if verb, ok := p.verbs[string(r.Args[1])]; ok {
			r.Verb = verb
		}
	}
	p.seen[r.Verb]++
	r.N = p.seen[r.Verb]
	return r
}
