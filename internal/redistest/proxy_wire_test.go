package redistest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/redistest"
)

func TestProxy_Deliver(t *testing.T) {
	t.Parallel()
	for name, protocol := range map[string]int{"RESP2": 2, "RESP3": 3} {
		onBoth(t, "late frames come behind their handshakes, "+name, func(w *wire) {
			w.late(protocol)
		})
	}
	t.Run("a frame that can't be delivered stays kept", func(t *testing.T) {
		t.Parallel()
		w := newWire(t)
		w.fate("incr", redistest.Late)
		w.rdb.Incr(t.Context(), "n")
		w.server.Kill()
		if answered, err := w.proxy.Deliver(t.Context()); err == nil {
			t.Errorf("a dead server answers %v", answered)
		}
		w.server.Restart()
		w.delivers(":1\r\n")
	})
}

// late delivers frames of a user in a database of a server that asks for a password.
func (w *wire) late(protocol int) {
	must(w.T, w.direct.Do(w.Context(), "ACL", "SETUSER", "clerk", "on", ">secret", "~*", "+@all").Err())
	must(w.T, w.direct.ConfigSet(w.Context(), "requirepass", "other").Err())
	direct := redis.NewClient(&redis.Options{
		Network: w.server.Network(), Addr: w.server.Addr(), Username: "clerk", Password: "secret", DB: 3,
	})
	defer direct.Close()
	w.proxy.Decide(func(r redistest.Request) redistest.Fate {
		if r.Verb == "incr" || r.Verb == "client" && strings.EqualFold(string(r.Args[1]), "getname") {
			return redistest.Late
		}
		return redistest.Pass
	})
	c := redis.NewClient(&redis.Options{
		Network: w.rdb.Options().Network, Addr: w.rdb.Options().Addr, Username: "clerk", Password: "secret", DB: 3,
		ClientName: "late", Protocol: protocol, MaxRetries: -1,
	})
	defer c.Close()
	if c.Incr(w.Context(), "n").Err() == nil || c.ClientGetName(w.Context()).Err() == nil {
		w.Fatal("a call was answered")
	}
	if n := direct.Exists(w.Context(), "n").Val(); n != 0 {
		w.Error("the frame came before it was delivered")
	}
	w.delivers(":1\r\n", "$4\r\nlate\r\n")
	if n := direct.Exists(w.Context(), "n").Val(); n != 1 {
		w.Error("the frame did not come to its database")
	}
}

func TestProxy_Hold(t *testing.T) {
	t.Parallel()
	for _, when := range []redistest.When{redistest.Written, redistest.Executed} {
		onBoth(t, "a request waits when it is "+when.String(), func(w *wire) {
			reached, release := make(chan redistest.Request, 1), make(chan struct{})
			w.proxy.Hold(func(r redistest.Request, at redistest.When) <-chan struct{} {
				if r.Verb != "incr" || at != when {
					return nil
				}
				reached <- r
				return release
			})
			answer := make(chan error, 1)
			go func() { answer <- w.rdb.Incr(w.Context(), "n").Err() }()
			r := <-reached
			if when == redistest.Written {
				w.counts("n", "")
			} else {
				w.counts("n", "1")
			}
			if got := string(r.Reply); got != map[redistest.When]string{redistest.Executed: ":1\r\n"}[when] {
				w.Errorf("its reply is %q", got)
			}
			select {
			case err := <-answer:
				w.Errorf("it was answered: %v", err)
			default:
			}
			close(release)
			must(w.T, <-answer)
			w.counts("n", "1")
		})
	}
	onBoth(t, "what waited is sent on though its client died", func(w *wire) {
		reached, release := make(chan struct{}, 2), make(chan struct{})
		w.proxy.Hold(func(r redistest.Request, at redistest.When) <-chan struct{} {
			if r.Verb != "incr" {
				return nil
			}
			reached <- struct{}{}
			if at == redistest.Written {
				return release
			}
			return nil
		})
		ctx, cancel := context.WithCancel(w.Context())
		c := redis.NewClient(&redis.Options{Network: w.rdb.Options().Network, Addr: w.rdb.Options().Addr, MaxRetries: -1})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.Incr(ctx, "n")
		}()
		<-reached
		cancel()
		must(w.T, c.Close())
		close(release)
		<-reached // executed
		w.counts("n", "1")
		<-ended
	})
}

func TestProxy_Delay(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	const delay = 30 * time.Millisecond
	w.proxy.Delay(func(r redistest.Request) time.Duration {
		if r.Verb == "ping" {
			return delay
		}
		return 0
	})
	began := time.Now()
	must(t, w.rdb.Ping(t.Context()).Err())
	if took := time.Since(began); took < delay {
		t.Errorf("it took %s", took)
	}
}

func TestProxy_connections(t *testing.T) {
	t.Parallel()
	onBoth(t, "cut ends those that are open", func(w *wire) {
		must(w.T, w.rdb.Ping(w.Context()).Err())
		blocked := make(chan error, 1)
		go func() { blocked <- w.rdb.BLPop(w.Context(), 0, "l").Err() }()
		w.until("BLPOP waits", w.blocked)
		w.proxy.Cut()
		if err := <-blocked; err == nil {
			w.Error("the call was answered")
		}
		must(w.T, w.proxy.Client().Ping(w.Context()).Err())
	})
	onBoth(t, "paused, nothing passes; resumed, all does", func(w *wire) {
		must(w.T, w.rdb.Ping(w.Context()).Err())
		w.proxy.Pause()
		answers := make(chan error, 2)
		go func() { answers <- w.rdb.Incr(w.Context(), "n").Err() }()
		go func() { answers <- w.proxy.Client().Incr(w.Context(), "n").Err() }()
		w.counts("n", "")
		w.proxy.Resume()
		must(w.T, <-answers)
		must(w.T, <-answers)
		w.counts("n", "2")
	})
	onBoth(t, "BLPOP waits, and is answered", func(w *wire) {
		answer := make(chan []string, 1)
		go func() { answer <- w.rdb.BLPop(w.Context(), 0, "l").Val() }()
		w.until("BLPOP waits", w.blocked)
		must(w.T, w.direct.RPush(w.Context(), "l", "v").Err())
		if got := strings.Join(<-answer, " "); got != "l v" {
			w.Errorf("got %q", got)
		}
	})
	onBoth(t, "a server that was killed and came back is dialled anew", func(w *wire) {
		must(w.T, w.rdb.Ping(w.Context()).Err())
		w.server.Kill()
		if err := w.rdb.Ping(w.Context()).Err(); err == nil {
			w.Error("a dead server answers")
		}
		w.server.Restart()
		must(w.T, w.rdb.Ping(w.Context()).Err())
	})
	t.Run("a server has two proxies, each with its rules", func(t *testing.T) {
		t.Parallel()
		w := newWire(t)
		w.fate("ping", redistest.DropRequest)
		must(t, redistest.NewProxy(t, w.server).Client().Ping(t.Context()).Err())
		if err := w.rdb.Ping(t.Context()).Err(); err == nil {
			t.Error("the rule does not hold")
		}
	})
}

// blocked tells whether a client waits on the server.
func (w *wire) blocked() bool {
	return strings.Contains(w.direct.Info(w.Context(), "clients").Val(), "blocked_clients:1")
}

func TestProxy_messages(t *testing.T) {
	t.Parallel()
	for name, protocol := range map[string]int{"RESP2": 2, "RESP3": 3} {
		onBoth(t, "messages pass, and what waits for them answers, "+name, func(w *wire) {
			c := redis.NewClient(&redis.Options{Network: w.rdb.Options().Network, Addr: w.rdb.Options().Addr, Protocol: protocol})
			defer c.Close()
			sub := c.Subscribe(w.Context(), "a", "b")
			defer sub.Close()
			for range 2 {
				_, err := sub.Receive(w.Context())
				must(w.T, err)
			}
			for _, text := range []string{"1", "2", "3"} {
				must(w.T, w.direct.Publish(w.Context(), "b", text).Err())
				m, err := sub.ReceiveMessage(w.Context())
				must(w.T, err)
				if m.Payload != text || m.Channel != "b" {
					w.Errorf("got %v", m)
				}
			}
			must(w.T, sub.Ping(w.Context()))
			if _, err := sub.Receive(w.Context()); err != nil {
				w.Errorf("a ping among messages: %v", err)
			}
		})
		t.Run("the answer to a subscription can be dropped, "+name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			w.fate("subscribe", redistest.DropReply)
			c := redis.NewClient(&redis.Options{Network: w.rdb.Options().Network, Addr: w.rdb.Options().Addr, Protocol: protocol})
			defer c.Close()
			sub := c.Subscribe(t.Context(), "a")
			defer sub.Close()
			if m, err := sub.Receive(t.Context()); err == nil {
				t.Errorf("received %v", m)
			}
			w.fired(redistest.DropReply)
		})
	}
}
