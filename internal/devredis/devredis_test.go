package devredis_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/waybillhq/waybill/internal/devredis"
	"github.com/waybillhq/waybill/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts a server that answers, and closes it when the test ends.
func start(t *testing.T, o devredis.Options) (*devredis.Server, *redis.Client) {
	t.Helper()
	if !o.InMemory {
		redistest.Binary(t)
	}
	s, err := devredis.Start(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() }) // tests that care look themselves
	return s, client(t, s)
}

func client(t *testing.T, s *devredis.Server) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(s.URL())
	must(t, err)
	o.MaxRetries, o.DialerRetries = -1, 1
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	must(t, c.Ping(t.Context()).Err())
	return c
}

func hostPort(s *devredis.Server) string { return strings.TrimPrefix(s.URL(), "redis://") }

func TestStart_child(t *testing.T) {
	t.Parallel()
	t.Run("data survives a close", func(t *testing.T) {
		t.Parallel()
		o := devredis.Options{Dir: filepath.Join(t.TempDir(), "with space")}
		s, c := start(t, o)
		if !s.Durable() || !strings.Contains(s.Version(), " ") {
			t.Errorf("durable %v, version %q", s.Durable(), s.Version())
		}
		must(t, c.Set(t.Context(), "k", "v", 0).Err())
		must(t, s.Close())
		_, c = start(t, o)
		if got := c.Get(t.Context(), "k").Val(); got != "v" {
			t.Errorf("after a restart k is %q", got)
		}
	})
	t.Run("data directory is the user's alone", func(t *testing.T) {
		t.Parallel()
		o := devredis.Options{Dir: filepath.Join(t.TempDir(), "a", "b")}
		start(t, o)
		info, err := os.Stat(o.Dir)
		must(t, err)
		if info.Mode().Perm() != 0o700 {
			t.Errorf("mode is %v", info.Mode())
		}
	})
	t.Run("without a directory nothing is left", func(t *testing.T) {
		t.Parallel()
		s, c := start(t, devredis.Options{})
		dir := c.ConfigGet(t.Context(), "dir").Val()["dir"]
		if _, err := os.Stat(dir); err != nil || s.Durable() {
			t.Errorf("directory: %v, durable: %v", err, s.Durable())
		}
		must(t, s.Close())
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	})
	t.Run("close is quick and may be repeated", func(t *testing.T) {
		t.Parallel()
		s, _ := start(t, devredis.Options{})
		must(t, s.Close())
		must(t, s.Close())
		<-s.Done()
	})
}

func TestStart_childFails(t *testing.T) {
	t.Parallel()
	fails := func(t *testing.T, o devredis.Options, want error) {
		t.Helper()
		redistest.Binary(t)
		s, err := devredis.Start(t.Context(), o)
		if err == nil {
			must(t, s.Close())
		}
		if !errors.Is(err, want) {
			t.Errorf("error is %v, want %v", err, want)
		}
	}
	t.Run("another Redis has the port", func(t *testing.T) {
		t.Parallel()
		s, c := start(t, devredis.Options{})
		fails(t, devredis.Options{Addr: hostPort(s)}, devredis.ErrAddrInUse)
		must(t, c.Ping(t.Context()).Err())
	})
	t.Run("something else has the port", func(t *testing.T) {
		t.Parallel()
		var lc net.ListenConfig
		l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
		must(t, err)
		defer l.Close()
		fails(t, devredis.Options{Addr: l.Addr().String()}, devredis.ErrAddrInUse)
	})
	t.Run("another server has the directory", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		_, c := start(t, devredis.Options{Dir: dir})
		fails(t, devredis.Options{Dir: dir}, devredis.ErrDirInUse)
		must(t, c.Ping(t.Context()).Err())
	})
	t.Run("damaged data is named", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s, c := start(t, devredis.Options{Dir: dir})
		must(t, c.Set(t.Context(), "k", "v", 0).Err())
		must(t, s.Close())
		files, err := filepath.Glob(filepath.Join(dir, "appendonly*", "*.incr.aof"))
		must(t, err)
		if len(files) == 0 {
			t.Skip("before Redis 7.0 the file is another")
		}
		must(t, os.WriteFile(files[0], []byte("nonsense\r\n"), 0o600))
		_, err = devredis.Start(t.Context(), devredis.Options{Dir: dir})
		if !errors.Is(err, devredis.ErrExited) || !strings.Contains(err.Error(), "Bad file format") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("the context ends the start", func(t *testing.T) {
		t.Parallel()
		redistest.Binary(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		addr := freeAddr(t)
		_, err := devredis.Start(ctx, devredis.Options{Addr: addr})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestServer_Done(t *testing.T) {
	t.Parallel()
	s, c := start(t, devredis.Options{})
	select {
	case <-s.Done():
		t.Fatal("a running server is done")
	default:
	}
	_ = c.Do(t.Context(), "SHUTDOWN", "NOSAVE", "FORCE").Err() // the connection just ends
	select {
	case <-s.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the server ended and nobody was told")
	}
	must(t, s.Close()) // it ended with status 0
}

func TestStart_addr(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:6379", "example.org:6379"} {
		_, err := devredis.Start(t.Context(), devredis.Options{Addr: addr})
		if !errors.Is(err, devredis.ErrNotLoopback) {
			t.Errorf("%s: error is %v", addr, err)
		}
	}
	for _, addr := range []string{"6379", "127.0.0.1:redis", "127.0.0.1:70000"} {
		if _, err := devredis.Start(t.Context(), devredis.Options{Addr: addr}); err == nil {
			t.Errorf("%s: no error", addr)
		}
	}
	s, _ := start(t, devredis.Options{Addr: "localhost:0", InMemory: true})
	if !strings.HasPrefix(s.URL(), "redis://127.0.0.1:") {
		t.Errorf("URL is %s", s.URL())
	}
}
