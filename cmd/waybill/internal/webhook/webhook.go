// Package webhook does jobs by HTTP: a POST for each, with the payload as body and the job's facts as headers. It is
// careful where it sends to, since who names the receiver may not be who runs the worker: an address that is not
// public is refused when it is dialled, redirects are not followed, and the environment's proxies not used.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/runner"
)

const (
	dialTime   = 10 * time.Second
	idleTime   = 60 * time.Second // how long a connection is kept that nobody uses
	mostHeader = 64 << 10         // bytes of an answer's headers
)

// Options of a Sender. URL, Timeout, Concurrency and Ending are required.
type Options struct {
	URL          *url.URL
	Proxy        *url.URL      // nil = none; it is the proxy then that decides which addresses may be reached
	Timeout      time.Duration // of one request, its answer included
	Header       http.Header   // sent with each; see CheckHeader
	Secret       []byte        // signs each request; nil = none
	AllowPrivate bool          // addresses that are not public, too
	Concurrency  int           // connections that are kept
	Ending       <-chan struct{}
	Unable       func(job string, err error) // is told where an address was refused, and the job given back
	Able         func()                      // is told where one was answered
}

// Sender sends jobs. Make it with New. It is safe for concurrent use.
type Sender struct {
	o      Options
	client *http.Client
}

// ParseURL reads a receiver's URL: http or https, with a host and without a password.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("can't be read") // the error holds the text, which may hold a secret
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("want http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("has no host")
	case u.User != nil:
		return nil, errors.New("holds a user: give a header Authorization in a file instead, --http-header-file")
	}
	return u, nil
}

// CheckHost tells early of a host that could never be sent to, as far as it can be told without asking anybody.
func CheckHost(u *url.URL) error {
	a, err := netip.ParseAddr(u.Hostname())
	if u.Hostname() == "localhost" || err == nil && !Public(a) {
		return fmt.Errorf("%w: %s", ErrPrivate, u.Hostname())
	}
	return nil
}

// New makes a Sender. It sends nothing.
func New(o Options) *Sender {
	dialer := &net.Dialer{Timeout: dialTime}
	if !o.AllowPrivate && o.Proxy == nil {
		dialer.ControlContext = onlyPublic
	}
	transport := &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialTime, IdleConnTimeout: idleTime,
		MaxIdleConnsPerHost: o.Concurrency, MaxResponseHeaderBytes: mostHeader,
		DisableCompression: true, // the result is the body as it was sent
	}
	if o.Proxy != nil {
		transport.Proxy = http.ProxyURL(o.Proxy)
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Sender{o: o, client: &http.Client{Transport: transport, CheckRedirect: noRedirect}}
}

// Close closes the connections that nobody uses.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

var errSlow = errors.New("no answer in time")

// Handle sends one job and waits for the answer. The end of ctx ends the request.
func (s *Sender) Handle(ctx context.Context, a *waybill.Attempt) ([]byte, error) {
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-s.o.Ending:
			cancel(waybill.ErrShutdown)
		case <-stop:
		}
	}()
	ctx, enough := context.WithTimeoutCause(ctx, s.o.Timeout, fmt.Errorf("%w: %s", errSlow, s.o.Timeout))
	defer enough()
	result, err := s.send(ctx, a, deadline)
	why := context.Cause(ctx)
	switch {
	case err == nil:
		return result, nil
	case errors.Is(why, waybill.ErrShutdown):
		return nil, release(why)
	case errors.Is(err, ErrPrivate):
		s.o.Unable(a.ID, err)
		return nil, release(err)
	case why != nil && errors.Is(err, errNoAnswer):
		return nil, why
	}
	return nil, err
}

// release gives a job back that this worker can't do, or not now: it is no failure of the job.
func release(err error) error { return &runner.Steer{End: runner.Release, Err: err} }

var errNoAnswer = errors.New("no answer")

func (s *Sender) send(ctx context.Context, a *waybill.Attempt, deadline time.Time) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.o.URL.String(), bytes.NewReader(a.Payload))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	now := time.Now()
	// The library sends a request anew, on a fresh connection, where a kept one turns out to be closed: for a POST it
	// does so only because of the idempotency key.
	r.Header = s.header(a, deadline, now)
	answer, err := s.client.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the URL: it may hold a secret
		}
		return nil, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	defer answer.Body.Close()
	s.o.Able()
	return outcome(answer, now)
}
