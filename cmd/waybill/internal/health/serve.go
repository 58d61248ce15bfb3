package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// requestTime bounds reading a request, and writing its answer.
const requestTime = 10 * time.Second

// Server answers GET /healthz.
type Server struct {
	http  *http.Server
	ended chan struct{}
}

// Serve answers on a listener, which it closes, until Close.
func (w *Watch) Serve(on net.Listener) *Server {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", w)
	s := &Server{
		http: &http.Server{
			Handler: mux, ReadTimeout: requestTime, WriteTimeout: requestTime, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		},
		ended: make(chan struct{}),
	}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(on) // until it is closed
	}()
	return s
}

// Close ends the server.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.ended
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// answer is the object for programs.
type answer struct {
	Status  string   `json:"status"` // ok or red
	Reasons []string `json:"reasons"`
}

// ServeHTTP answers 200 and "ok", or 503 and why. With ?format=json, or where JSON is asked for by Accept, it
// answers with an object.
func (w *Watch) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	a := answer{"ok", w.Reasons(r.Context())}
	status := http.StatusOK
	if len(a.Reasons) > 0 {
		a.Status, status = "red", http.StatusServiceUnavailable
	} else {
		a.Reasons = []string{}
	}
	h := to.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.URL.Query().Get("format") == "json" || strings.Contains(r.Header.Get("Accept"), "application/json") {
		h.Set("Content-Type", "application/json")
		to.WriteHeader(status)
		_ = json.NewEncoder(to).Encode(a) // whoever asked may be gone
		return
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	to.WriteHeader(status)
	if status == http.StatusOK {
		fmt.Fprintln(to, "ok")
		return
	}
	fmt.Fprintln(to, strings.Join(strings.Fields(strings.Join(a.Reasons, "; ")), " "))
}
