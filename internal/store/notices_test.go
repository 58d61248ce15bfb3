package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// follow gives what is heard on a channel of a queue.
func follow(t *testing.T, s *store.Store, queue string, c store.Channel) (heard <-chan string, stop func()) {
	t.Helper()
	q, err := s.Queue(queue)
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	return lines, q.Follow(c, func(line string) { lines <- line })
}

// hears waits for a line, over others.
func hears(t *testing.T, heard <-chan string, want string) {
	t.Helper()
	for limit := time.After(10 * time.Second); ; {
		select {
		case line := <-heard:
			if line == want {
				return
			}
		case <-limit:
			t.Fatalf("%q not heard in 10 s", want)
		}
	}
}

func publish(t *testing.T, rdb *redis.Client, channel, text string) {
	t.Helper()
	if err := rdb.Publish(t.Context(), channel, text).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	rdb := srv.Client()
	s, err := store.New(rdb, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	connections := func() int {
		list, err := rdb.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(list, "id=")
	}
	ended, stopEnded := follow(t, s, "q", store.EndedChannel)
	hears(t, ended, "")
	t.Run("each line is told", func(t *testing.T) {
		publish(t, rdb, "wb:{q}:ended", "a completed\nb dead")
		hears(t, ended, "a completed")
		hears(t, ended, "b dead")
	})
	control, stopControl := follow(t, s, "other", store.ControlChannel)
	hears(t, control, "")
	t.Run("all channels share one connection", func(t *testing.T) {
		publish(t, rdb, "wb:{other}:control", "cancel a")
		hears(t, control, "cancel a")
		if n := connections(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
	t.Run("a second follower of a channel is told that it is joined, and hears", func(t *testing.T) {
		again, stop := follow(t, s, "q", store.EndedChannel)
		hears(t, again, "")
		publish(t, rdb, "wb:{q}:ended", "c completed")
		hears(t, again, "c completed")
		hears(t, ended, "c completed")
		stop()
		publish(t, rdb, "wb:{q}:ended", "d completed")
		hears(t, ended, "d completed")
	})
	t.Run("after a connection was killed all are told, and hear again", func(t *testing.T) {
		for range 3 {
			if err := rdb.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err(); err != nil {
				t.Fatal(err)
			}
			hears(t, ended, "")
			hears(t, control, "")
			publish(t, rdb, "wb:{q}:ended", "e completed")
			hears(t, ended, "e completed")
		}
	})
	t.Run("and after a restart", func(t *testing.T) {
		srv.Kill()
		srv.Restart()
		hears(t, ended, "")
		publish(t, rdb, "wb:{q}:ended", "f completed")
		hears(t, ended, "f completed")
	})
	t.Run("with the last follower the connection goes, and comes with the next", func(t *testing.T) {
		stopEnded()
		stopControl()
		for limit := time.Now().Add(10 * time.Second); connections() > 0; {
			if time.Now().After(limit) {
				t.Fatal("still connected")
			}
		}
		again, stop := follow(t, s, "q", store.EndedChannel)
		defer stop()
		hears(t, again, "")
	})
}

func TestNotices_SilentConnection(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv)
	s, err := store.New(proxy.Client(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	heard, _ := follow(t, s, "q", store.EndedChannel)
	hears(t, heard, "")
	proxy.Silence()
	hears(t, heard, "") // on another connection
	publish(t, srv.Client(), "wb:{q}:ended", "a completed")
	hears(t, heard, "a completed")
}

func TestCall_FrozenServer(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	s, err := store.New(srv.Client(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := s.Queue("q")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Stats(t.Context()); err != nil {
		t.Fatal(err)
	}
	srv.Stop()
	defer srv.Cont()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = q.Stats(ctx)
	if took := time.Since(began); took > time.Second || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a call under 100 ms took %s: %v", took, err)
	}
}

func TestCall_SilentConnections(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv)
	s, err := store.New(proxy.Client(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := s.Queue("q")
	if err != nil {
		t.Fatal(err)
	}
	claim := func(number int64) error {
		_, err := q.Claim(t.Context(), store.Claim{Worker: "w", Number: number, Most: 1, Lease: time.Minute})
		return err
	}
	if err := claim(1); err != nil {
		t.Fatal(err)
	}
	proxy.Silence()
	began := time.Now()
	if err := claim(2); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("a claim over connections that were cut without a close took %s", took)
	}
}
