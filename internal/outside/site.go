package outside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// maxBody is the longest body that is read, in bytes.
const maxBody = 1 << 20

// site is an HTTP server on a free port of 127.0.0.1.
type site struct {
	*Book
	server *http.Server
	url    string
	ended  chan struct{}
}

func startSite(ctx context.Context, o Options) (*site, *http.ServeMux, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("start web server: %w", err)
	}
	mux := http.NewServeMux()
	s := &site{
		Book: newBook(o), url: "http://" + l.Addr().String(), ended: make(chan struct{}),
		server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second},
	}
	go func() {
		defer close(s.ended)
		_ = s.server.Serve(l) // until it is closed
	}()
	return s, mux, nil
}

// Close ends the server with all its connections.
func (s *site) Close() error {
	err := s.server.Close()
	<-s.ended
	return err
}

// answer does what was asked under a key, unless there is trouble, and says whether the caller is to hear of it.
func (s *site) answer(w http.ResponseWriter, r *http.Request, key, what string) (first string, hears bool) {
	s.latency(r.Context())
	t, first := s.ask(key, what)
	switch t {
	case Busy:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return "", false
	case Held:
		s.hold(Visit{key, r.UserAgent()}, r.Context().Done())
		panic(http.ErrAbortHandler)
	case LostReply:
		panic(http.ErrAbortHandler)
	}
	return first, t == None
}

// body reads what a caller sent.
func body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil && !errors.Is(err, context.Canceled) {
		http.Error(w, "the body is cut off or too long", http.StatusBadRequest)
	}
	return b, err == nil
}
