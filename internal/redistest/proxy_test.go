package redistest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/waybillhq/waybill/internal/redistest"
)

// wire is a server behind a proxy, with a client on each side of it.
type wire struct {
	*testing.T
	server *redistest.Server
	proxy  *redistest.Proxy
	rdb    *redis.Client // through the proxy
	direct *redis.Client
}

func newWire(t *testing.T, o ...redistest.Option) *wire {
	t.Helper()
	w := &wire{T: t, server: redistest.Start(t, o...)}
	w.proxy = redistest.NewProxy(t, w.server)
	w.rdb, w.direct = w.proxy.Client(), w.server.Client()
	return w
}

// onBoth runs a test on a unix socket and on TCP.
func onBoth(t *testing.T, name string, f func(*wire)) {
	t.Helper()
	for network, o := range map[string][]redistest.Option{"unix": nil, "tcp": {redistest.TCP()}} {
		t.Run(name+", "+network, func(t *testing.T) {
			t.Parallel()
			f(newWire(t, o...))
		})
	}
}

// fate gives the first request of a verb its fate.
func (w *wire) fate(verb string, f redistest.Fate) {
	w.proxy.Decide(func(r redistest.Request) redistest.Fate {
		if r.Verb == verb && r.N == 1 {
			return f
		}
		return redistest.Pass
	})
}

// fired expects that a fate came about once, and none besides.
func (w *wire) fired(f redistest.Fate) {
	w.Helper()
	if got := w.proxy.Faults(); len(got) != 1 || got[f] != 1 {
		w.Errorf("faults are %v, want one %v", got, f)
	}
}

func (w *wire) counts(key, want string) {
	w.Helper()
	if got := w.direct.Get(w.Context(), key).Val(); got != want {
		w.Errorf("%s is %q, want %q", key, got, want)
	}
}

// until waits until something is so.
func (w *wire) until(what string, is func() bool) {
	w.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); !is(); <-tick.C {
		if time.Now().After(end) {
			w.Fatalf("not within 10 s: %s", what)
		}
	}
}

// TestProxy_goroutines comes first, while no test runs beside it.
func TestProxy_goroutines(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("run", func(t *testing.T) {
		w := newWire(t)
		never := make(chan struct{})
		w.proxy.Hold(func(r redistest.Request, _ redistest.When) <-chan struct{} {
			if r.Verb == "get" {
				return never
			}
			return nil
		})
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			c := w.proxy.Client()
			if err := c.Get(ctx, "k").Err(); err == nil {
				t.Error("a call that waits was answered")
			}
			cancel()
		}
		w.proxy.Silence()
		w.proxy.Pause()
		go w.proxy.Client().Ping(t.Context())
		w.server.Stop()
	})
	if err := goleak.Find(before); err != nil {
		t.Errorf("a proxy that ended leaves: %v", err)
	}
}

func TestProxy_Decide(t *testing.T) {
	t.Parallel()
	cut := []struct {
		fate redistest.Fate
		done string // what the server has of it
	}{
		{redistest.DropRequest, ""},
		{redistest.DropReply, "1"},
		{redistest.CutRequest, ""},
		{redistest.CutReply, "1"},
		{redistest.Reset, ""},
		{redistest.Late, ""},
	}
	for _, c := range cut {
		onBoth(t, c.fate.String()+" ends the connection", func(w *wire) {
			w.fate("incr", c.fate)
			if err := w.rdb.Incr(w.Context(), "n").Err(); err == nil {
				w.Error("the call was answered")
			}
			w.fired(c.fate)
			must(w.T, w.rdb.Ping(w.Context()).Err()) // on a new one
			w.counts("n", c.done)
		})
	}
	onBoth(t, "half-open passes nothing and does not end", func(w *wire) {
		w.fate("incr", redistest.HalfOpen)
		ctx, cancel := context.WithTimeout(w.Context(), 100*time.Millisecond)
		defer cancel()
		err := redis.NewClient(&redis.Options{
			Network: w.rdb.Options().Network, Addr: w.rdb.Options().Addr, MaxRetries: -1, ContextTimeoutEnabled: true,
		}).Incr(ctx, "n").Err()
		if !isTimeout(err) {
			w.Errorf("the call ended with %v", err)
		}
		w.fired(redistest.HalfOpen)
		w.counts("n", "")
	})
	onBoth(t, "again passes, and once more when it is delivered", func(w *wire) {
		w.fate("incr", redistest.Again)
		must(w.T, w.rdb.Incr(w.Context(), "n").Err())
		w.fired(redistest.Again)
		w.counts("n", "1")
		w.delivers(":2\r\n")
		w.counts("n", "2")
		w.delivers()
	})
	for fate, done := range map[redistest.Fate]string{redistest.DropRequest: "2", redistest.DropReply: "3"} {
		onBoth(t, "a pipeline is answered up to where it is cut, and nothing behind is sent: "+fate.String(), func(w *wire) {
			w.proxy.Decide(func(r redistest.Request) redistest.Fate {
				if r.Verb == "incr" && r.N == 3 {
					return fate
				}
				return redistest.Pass
			})
			var d net.Dialer
			conn, err := d.DialContext(w.Context(), w.rdb.Options().Network, w.rdb.Options().Addr)
			must(w.T, err)
			defer conn.Close()
			_, err = io.WriteString(conn, strings.Repeat("*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n", 5))
			must(w.T, err)
			got, err := io.ReadAll(conn)
			must(w.T, err)
			if string(got) != ":1\r\n:2\r\n" {
				w.Errorf("answers are %q", got)
			}
			w.counts("n", done)
			w.fired(fate)
		})
	}
	onBoth(t, "scripts have the verbs that they were given", func(w *wire) {
		sha, err := w.rdb.ScriptLoad(w.Context(), "return 7").Result()
		must(w.T, err)
		w.proxy.Verbs(map[string]string{sha: "settle"})
		w.fate("settle", redistest.DropReply)
		if err := w.rdb.EvalSha(w.Context(), sha, nil).Err(); err == nil {
			w.Error("the call was answered")
		}
		w.fired(redistest.DropReply)
	})
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// delivers expects what the kept frames are answered.
func (w *wire) delivers(want ...string) {
	w.Helper()
	answered, err := w.proxy.Deliver(w.Context())
	must(w.T, err)
	var got strings.Builder
	for _, r := range answered {
		got.Write(r.Reply)
	}
	if got.String() != strings.Join(want, "") {
		w.Errorf("replies are %q, want %q", got.String(), want)
	}
}
