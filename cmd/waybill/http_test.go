package main_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// posted sends one job, works the queue off with a receiver, and gives the job and the last request.
func posted(t *testing.T, r waybill.Request, answer http.HandlerFunc, flags ...string) (waybill.JobInfo, *http.Request, ran) {
	t.Helper()
	var mu sync.Mutex
	var last *http.Request
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		last = r.Clone(context.WithoutCancel(r.Context()))
		mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(receiver.Close)
	s := redistest.Start(t)
	c := client(t, s)
	if r.ID == "" {
		r.ID = "id"
	}
	r.Queue, r.Kind, r.Retention = "q", "k", time.Hour
	send(t, c, r)
	args := []string{"work", "--queue", "q", "--until-empty", "--http-allow-private", "--http", receiver.URL}
	got := waybillOn(t, s, "", append(args, flags...)...)
	if got.status != 0 {
		t.Fatalf("status %d: %s", got.status, got.err)
	}
	mu.Lock()
	defer mu.Unlock()
	return job(t, c, r.ID), last, got
}

func answers(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// switches answers that another protocol comes, and says no more while the connection is there.
func switches(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
	_, _ = io.Copy(io.Discard, conn)
}

func TestHTTP_status(t *testing.T) {
	t.Parallel()
	last := []string{"--max-failures", "1"}
	inAnHour := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	cases := []struct {
		name              string
		answer            http.HandlerFunc
		flags             []string
		state             waybill.State
		failures, snoozes int
		result, error     string
		due               time.Duration // at most; not below half of it
	}{
		{name: "200 is done with the body as the result", answer: answers(200, "fine\n"), state: waybill.StateCompleted, result: "fine\n"},
		{name: "204 is done", answer: answers(204, ""), state: waybill.StateCompleted},
		{
			name: "503 with Retry-After puts the job off without a failure", answer: answers(503, "", "Retry-After", "1800"),
			state: waybill.StateScheduled, snoozes: 1, due: 30 * time.Minute,
		},
		{
			name: "so does 429 with a date", answer: answers(429, "", "Retry-After", inAnHour),
			state: waybill.StateScheduled, snoozes: 1, due: time.Hour,
		},
		{
			name: "for an hour at most", answer: answers(429, "", "Retry-After", "1000000"),
			state: waybill.StateScheduled, snoozes: 1, due: time.Hour,
		},
		{
			name: "also where it is more seconds than anybody counts", answer: answers(429, "", "Retry-After", "99999999999999999999"),
			state: waybill.StateScheduled, snoozes: 1, due: time.Hour,
		},
		{
			name: "503 without is a failure", answer: answers(503, "busy"), flags: last, state: waybill.StateDead, failures: 1,
			error: "503 Service Unavailable: busy",
		},
		{
			name: "with one that says nothing too", answer: answers(429, "", "Retry-After", "soon"), flags: last, state: waybill.StateDead,
			failures: 1, error: "429 Too Many Requests",
		},
		{name: "400 is dead at once", answer: answers(400, "bad data"), state: waybill.StateDead, failures: 1, error: "400 Bad Request: bad data"},
		{name: "410 too", answer: answers(410, ""), state: waybill.StateDead, failures: 1, error: "410 Gone"},
		{name: "422 too", answer: answers(422, ""), state: waybill.StateDead, failures: 1, error: "422 Unprocessable Entity"},
		{
			name: "500 is tried again, not before Retry-After", answer: answers(500, "", "Retry-After", "1800"), state: waybill.StateRetry,
			failures: 1, error: "500 Internal Server Error", due: 30 * time.Minute,
		},
		{name: "404 is a failure", answer: answers(404, ""), flags: last, state: waybill.StateDead, failures: 1, error: "404 Not Found"},
		{
			name: "a redirect is a failure that says where to", answer: answers(307, "", "Location", "/elsewhere"), flags: last,
			state: waybill.StateDead, failures: 1, error: "307 Temporary Redirect, not followed, to /elsewhere",
		},
		{
			name: "what the body holds is made printable", answer: answers(500, "a\x1b[31m\xffb"), flags: last, state: waybill.StateDead,
			failures: 1, error: "500 Internal Server Error: a\uFFFD[31m\uFFFDb",
		},
		{
			name: "no answer in time is a failure", flags: append(last, "--http-timeout", "100ms"), state: waybill.StateDead,
			answer: func(_ http.ResponseWriter, r *http.Request) { wait(r) }, failures: 1, error: "no answer in time: 100ms",
		},
		{
			name: "so is the end of the attempt's time", flags: append(last, "--timeout", "100ms"), state: waybill.StateDead,
			answer: func(_ http.ResponseWriter, r *http.Request) { wait(r) }, failures: 1, error: "attempt timed out",
		},
		{
			name: "a connection that breaks is a failure", flags: last, state: waybill.StateDead, failures: 1, error: "no answer: EOF",
			answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		},
		{
			name: "so is another protocol, which nobody waits for", answer: switches, flags: last, state: waybill.StateDead, failures: 1,
			error: "101 Switching Protocols",
		},
		{
			name: "so is a body that breaks off", flags: last, state: waybill.StateDead, failures: 1,
			answer: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100")
				_, _ = io.WriteString(w, "half")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			},
			error: "200 OK, but its body did not come: ",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j, r, _ := posted(t, waybill.Request{}, c.answer, c.flags...)
			if j.State != c.state || j.Failures != c.failures || j.Snoozes != c.snoozes || string(j.Result) != c.result {
				t.Errorf("%s, %d failures, %d snoozes, result %q", j.State, j.Failures, j.Snoozes, j.Result)
			}
			if c.error == "" && len(j.Errors) > 0 || c.error != "" && (len(j.Errors) != 1 || !strings.HasPrefix(j.Errors[0].Message, c.error)) {
				t.Errorf("errors: %+v", j.Errors)
			}
			if left := j.DueAt.Sub(j.At); c.due > 0 && (left > c.due || left < c.due/2) {
				t.Errorf("it is due in %v", left)
			}
			if r.URL.Path != "/" || r.Method != http.MethodPost {
				t.Errorf("%s %s was sent", r.Method, r.URL)
			}
		})
	}
}

// wait waits until whoever asked has gone.
func wait(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func TestHTTP_request(t *testing.T) {
	t.Parallel()
	t.Run("facts are headers, percent-encoded where they are not ASCII", func(t *testing.T) {
		t.Parallel()
		r := waybill.Request{
			ID: "é/50%", Payload: []byte(`{"a":1}`), MaxFailures: waybill.Unlimited,
			Headers: map[string]string{"traceparent": "00-aa-bb-01", "tracestate": "x=1\r\nEvil: 1"},
		}
		file := filepath.Join(t.TempDir(), "headers")
		must(t, os.WriteFile(file, []byte("# a comment\nAuthorization: Bearer secret\n\n"), 0o600))
		var body []byte
		_, got, _ := posted(t, r, func(_ http.ResponseWriter, r *http.Request) { body, _ = io.ReadAll(r.Body) },
			"--http-header", "X-Team=a b", "--http-header-file", file, "--timeout", "1m")
		for name, want := range map[string]string{
			"Waybill-Job-Id": "%C3%A9/50%25", "Waybill-Queue": "q", "Waybill-Kind": "k", "Waybill-Attempt": "1", "Waybill-Failures": "0",
			"Waybill-Max-Failures": "unlimited", "Idempotency-Key": "k/%C3%A9/50%25", "Traceparent": "00-aa-bb-01",
			"Tracestate": "x=1%0D%0AEvil:%201", "Evil": "", "Content-Type": "application/json", "X-Team": "a b",
			"Authorization": "Bearer secret", "Webhook-Id": "",
		} {
			if v := got.Header.Get(name); v != want {
				t.Errorf("%s is %q, want %q", name, v, want)
			}
		}
		if at, err := time.Parse(time.RFC3339, got.Header.Get("Waybill-Deadline")); err != nil || time.Until(at) > time.Minute {
			t.Errorf("deadline %q", got.Header.Get("Waybill-Deadline"))
		}
		if string(body) != `{"a":1}` {
			t.Errorf("body %q", body)
		}
	})
	t.Run("a payload that is no JSON is an octet stream", func(t *testing.T) {
		t.Parallel()
		_, got, _ := posted(t, waybill.Request{Payload: []byte("\xff")}, answers(200, ""))
		if v := got.Header.Get("Content-Type"); v != "application/octet-stream" {
			t.Errorf("content type %s", v)
		}
	})
	t.Run("it is signed as in Standard Webhooks", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "secret")
		must(t, os.WriteFile(file, []byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"), 0o600))
		secret, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
		must(t, err)
		_, got, _ := posted(t, waybill.Request{ID: "a.b", Payload: []byte("body")}, answers(200, ""), "--http-secret-file", file)
		id, at := got.Header.Get("webhook-id"), got.Header.Get("webhook-timestamp")
		mac := hmac.New(sha256.New, secret)
		fmt.Fprintf(mac, "%s.%s.body", id, at)
		if id != "k/a%2Eb" || got.Header.Get("webhook-signature") != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
			t.Errorf("id %q, at %q, signature %q", id, at, got.Header.Get("webhook-signature"))
		}
		if n, err := strconv.ParseInt(at, 10, 64); err != nil || time.Since(time.Unix(n, 0)).Abs() > time.Minute {
			t.Errorf("timestamp %q", at)
		}
	})
	t.Run("a result over the limit is dropped, and the job done", func(t *testing.T) {
		t.Parallel()
		j, _, _ := posted(t, waybill.Request{}, answers(200, strings.Repeat("x", 1<<20)))
		if j.State != waybill.StateCompleted || j.Result != nil || !j.ResultDropped {
			t.Errorf("%s, %d bytes, dropped %v", j.State, len(j.Result), j.ResultDropped)
		}
	})
	t.Run("one at the limit is kept", func(t *testing.T) {
		t.Parallel()
		if j, _, _ := posted(t, waybill.Request{}, answers(200, strings.Repeat("x", 256<<10))); len(j.Result) != 256<<10 {
			t.Errorf("%s, %d bytes", j.State, len(j.Result))
		}
	})
}

// TestHTTP_addresses: a name that resolves to an address of ours is found out when it is dialled. (The check of the
// flags knows localhost, spelled so only.)
func TestHTTP_addresses(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(receiver.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(receiver.URL, "http://"), ":")
	s, c := held(t)
	p := launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, "work", "--queue", "q", "--http", "http://LocalHost:"+port+"/hook?secret=1")
	until(t, "the job is given back, and it is told", func() bool {
		stats, err := c.Queue("q").Stats(t.Context())
		must(t, err)
		return stats.Released > 1 && strings.Contains(p.stderr(), "address is not a public one")
	})
	if j := job(t, c, "id"); j.Failures != 0 || len(j.Errors) != 0 || asked.Load() != 0 {
		t.Errorf("%d failures, %v, %d requests", j.Failures, j.Errors, asked.Load())
	}
	p.signal(syscall.SIGTERM)
	if got := p.status(); got != 0 || strings.Contains(p.stderr(), "secret") || strings.Count(p.stderr(), "level=ERROR") != 1 {
		t.Errorf("status %d", got)
	}
}

func TestHTTP_proxy(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.String() }))
	t.Cleanup(proxy.Close)
	s, c := held(t)
	got := waybillOn(t, s, "", "work", "--queue", "q", "--until-empty", "--http-proxy", proxy.URL, "--http", "http://receiver.invalid/hook")
	if j := job(t, c, "id"); got.status != 0 || j.State != waybill.StateCompleted {
		t.Fatalf("job is %s: %s", j.State, got.err)
	}
	if to := <-asked; to != "http://receiver.invalid/hook" {
		t.Errorf("the proxy was asked for %s", to)
	}
}

func TestHTTP_ends(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, flags ...string) (*waybill.Client, *process, chan struct{}) {
		began, ended := make(chan struct{}, 1), make(chan struct{}, 1)
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			began <- struct{}{}
			wait(r)
			ended <- struct{}{}
		}))
		t.Cleanup(receiver.Close)
		s, c := held(t)
		args := []string{"work", "--queue", "q", "--http-allow-private", "--http", receiver.URL}
		p := launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, append(args, flags...)...)
		<-began
		return c, p, ended
	}
	t.Run("a lost lease ends the request", func(t *testing.T) {
		t.Parallel()
		c, p, ended := start(t, "--lease", "300ms")
		must(t, c.Queue("q").Delete(t.Context(), "id", waybill.DeleteOptions{Force: true}))
		<-ended
		until(t, "it is told", func() bool { return strings.Contains(p.stderr(), "lease lost") })
	})
	t.Run("a cancel ends it, and is no failure", func(t *testing.T) {
		t.Parallel()
		c, _, ended := start(t, "--lease", "300ms")
		must(t, c.Queue("q").Cancel(t.Context(), "id", "not needed"))
		<-ended
		until(t, "the job is cancelled", func() bool { return job(t, c, "id").State == waybill.StateCancelled })
		if j := job(t, c, "id"); j.Failures != 0 {
			t.Errorf("%d failures", j.Failures)
		}
	})
	t.Run("the end of the grace ends it, and gives the job back", func(t *testing.T) {
		t.Parallel()
		c, p, ended := start(t, "--grace", "50ms")
		p.signal(syscall.SIGTERM)
		<-ended
		if got := p.status(); got != 0 {
			t.Errorf("status %d", got)
		}
		if j := job(t, c, "id"); j.State != waybill.StateReady || j.Failures+j.Crashes != 0 {
			t.Errorf("job is %s, %d failures, %d crashes", j.State, j.Failures, j.Crashes)
		}
	})
}

func TestHTTP_connectionsAreKept(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	receiver := httptest.NewUnstartedServer(answers(200, "ok"))
	receiver.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	receiver.Start()
	t.Cleanup(receiver.Close)
	s := redistest.Start(t)
	c := client(t, s)
	for range 50 {
		send(t, c, waybill.Request{Queue: "q", Kind: "k"})
	}
	got := waybillOn(t, s, "", "work", "--queue", "q=2", "--until-empty", "--http-allow-private", "--http", receiver.URL)
	stats, err := c.Queue("q").Stats(t.Context())
	must(t, err)
	if n := connections.Load(); got.status != 0 || stats.Completed != 50 || n > 4 {
		t.Errorf("%d connections for %d jobs: %s", n, stats.Completed, got.err)
	}
}
