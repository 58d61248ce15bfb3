package devredis

import (
	"context"
	"log/slog"
	"sync"
)

// Options say which server to start. The zero value is a server on a free port
// with a temporary data directory.
type Options struct {
	// Dir is the data directory, created with mode 0700 when it is missing.
	// Empty means a temporary directory that Close removes. The in-memory
	// server does not use it.
	Dir string

	// Addr is the loopback address to listen on, as host:port. Empty means
	// 127.0.0.1 and a free port, port 0 a free port; the host "localhost"
	// means 127.0.0.1.
	Addr string

	// InMemory asks for the in-memory server also where a real one could be
	// started.
	InMemory bool

	// Log receives start and stop at Info. Nil means no log. Errors are
	// returned, not logged.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Server is a running development Redis. Its methods may be called from any
// goroutine.
type Server struct {
	url     string
	version string
	durable bool

	done  <-chan struct{} // closed when the server has ended
	stop  func() error
	close sync.Once
	err   error // of Close
}

// Start starts a server and returns when it answers. The context bounds the
// start, not the server's life: the caller ends the server with Close.
//
// It fails with [ErrNotLoopback], [ErrAddrInUse], [ErrDirInUse] or [ErrExited],
// or with the context's error when the server, which may be loading a large
// append-only file, has not answered in time.
func Start(ctx context.Context, o Options) (*Server, error) {
	o = o.withDefaults()
	addr, err := loopback(o.Addr)
	if err != nil {
		return nil, err
	}
	start := func() (*Server, error) { return startMemory(addr) }
	if binary, ok := Find(); ok && !o.InMemory {
		start = func() (*Server, error) { return startChild(ctx, binary, o, addr) }
	}
	s, err := start()
	if err != nil {
		return nil, err
	}
	s.log(o.Log)
	return s, nil
}

// URL is where the server listens, as redis://127.0.0.1:PORT.
func (s *Server) URL() string { return s.url }

// Durable reports whether data outlives the server: true for a real server with
// a data directory that the caller named. What it accepted in its last second
// may still be lost in a power cut (appendfsync everysec).
func (s *Server) Durable() bool { return s.durable }

// Version names the server, as "redis 7.0.15", "valkey 8.0.1" or "miniredis".
func (s *Server) Version() string { return s.version }

// Done is closed when the server has ended, by itself or through Close.
func (s *Server) Done() <-chan struct{} { return s.done }

// Close ends the server and returns when it has ended: it asks, waits up to ten
// seconds, then kills. The error says that the server had crashed
// ([ErrExited]), had to be killed or left its temporary directory behind.
// Further calls return the same error.
func (s *Server) Close() error {
	s.close.Do(func() { s.err = s.stop() })
	return s.err
}
