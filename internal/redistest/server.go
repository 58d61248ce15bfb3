package redistest

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/devredis"
)

// startTimeout bounds a start. It is long because CI machines are slow; a start
// takes about 30 ms.
const startTimeout = 20 * time.Second

// Option changes the server that Start starts.
type Option func(*Server)

// Config sets a configuration directive, as Config("maxmemory", "20mb").
func Config(name string, values ...string) Option {
	return func(s *Server) {
		s.args = append(append(s.args, "--"+name), values...)
	}
}

// AOF turns the append-only file on (appendfsync everysec, unless Config says
// otherwise), so that data survives Kill and Restart; where the disk is slow, all
// but up to two seconds of it. Without it a restarted server is empty.
func AOF() Option { return Config("appendonly", "yes") }

// TCP makes the server listen on a port of 127.0.0.1 in place of a unix socket,
// for tests that put a proxy before it.
func TCP() Option {
	return func(s *Server) { s.network = "tcp" }
}

// Holding makes the server start on a data directory that fill has filled.
func Holding(fill func(dir string) error) Option {
	return func(s *Server) { s.fill = fill }
}

// Server is a private Redis server. Its methods belong to the goroutine of the
// test that started it, except Client, URL, Addr and Network, which any
// goroutine may call. All failures end the test.
type Server struct {
	t       testing.TB
	command []string // the program, and what stands before its arguments
	preload *preload // nil = none
	fill    func(dir string) error
	dir     string
	network string
	addr    string
	args    []string
	process *devredis.Process
}

// Start starts a server without persistence on a unix socket and ends it when
// the test ends.
func Start(t testing.TB, o ...Option) *Server {
	t.Helper()
	s := &Server{t: t, command: []string{Binary(t)}, network: "unix"}
	for _, opt := range o {
		opt(s)
	}
	dir, err := os.MkdirTemp("", "wb") //nolint:usetesting // names of t.TempDir are too long for a socket's path (108 bytes)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	s.dir = dir
	if s.network == "unix" {
		s.addr = filepath.Join(dir, "s")
	}
	t.Cleanup(s.cleanup)
	if s.fill != nil {
		if err := s.fill(dir); err != nil {
			t.Fatalf("redistest: %v", err)
		}
	}
	if s.preload != nil {
		s.command = s.preload.begin(t, dir, s.command[0])
	}
	s.launch()
	return s
}

func (s *Server) cleanup() {
	if s.process != nil {
		s.process.Kill()
		if s.t.Failed() {
			s.t.Logf("redistest: last output of the server:\n%s", s.process.Output())
		}
	}
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Errorf("redistest: %v", err)
	}
}

// launch starts the server, the first time on TCP at a port that it chooses.
func (s *Server) launch() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), startTimeout)
	defer cancel()
	var p *devredis.Process
	var err error
	if s.addr == "" {
		p, s.addr, err = launchFree(ctx, s.command, s.dir, s.args)
	} else {
		p, err = launch(ctx, s.command, s.dir, s.network, s.addr, s.args)
	}
	if err != nil {
		s.t.Fatalf("redistest: %v", err)
	}
	s.process = p
}

// Client returns a new client that retries neither commands nor dials, so that
// tests see each error, at once. It is closed when the test ends.
func (s *Server) Client() *redis.Client {
	return newClient(s.t, s.network, s.addr)
}

// Network is "unix" or, with the option TCP, "tcp".
func (s *Server) Network() string { return s.network }

// Addr is the path of the socket or, with the option TCP, host:port.
func (s *Server) Addr() string { return s.addr }

// URL is the address in the form that redis.ParseURL reads.
func (s *Server) URL() string {
	if s.network == "unix" {
		return "unix://" + s.addr
	}
	return "redis://" + s.addr
}

// Dir is the server's data directory. It stays the same over restarts.
func (s *Server) Dir() string { return s.dir }

// PID is the process ID of the running server; after Restart it is another.
func (s *Server) PID() int { return s.process.PID() }

// Done is closed when the running server has ended, by itself too; after Restart it is another.
func (s *Server) Done() <-chan struct{} { return s.process.Done() }

// Output is what the running server wrote last, at most 4 KiB.
func (s *Server) Output() string { return s.process.Output() }

// Kill ends the server with SIGKILL and returns when it has ended.
func (s *Server) Kill() { s.process.Kill() }

// Restart starts the server again at the same address and in the same
// directory, after a Kill if it runs. It returns when the server answers, that
// is, has loaded its data.
func (s *Server) Restart() {
	s.t.Helper()
	s.process.Kill()
	s.launch()
}

// Stop freezes the server with SIGSTOP: connections stay open and nothing
// answers.
func (s *Server) Stop() { s.signal(syscall.SIGSTOP) }

// Cont lets a frozen server run on.
func (s *Server) Cont() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.process.Signal(sig); err != nil {
		s.t.Fatalf("redistest: send %v: %v", sig, err)
	}
}
