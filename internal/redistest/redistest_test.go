package redistest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	kinds := map[string][]redistest.Option{
		"unix": nil,
		"tcp":  {redistest.TCP()},
	}
	for network, options := range kinds {
		t.Run(network+" server answers at its URL", func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, options...)
			if s.Network() != network {
				t.Errorf("network is %s", s.Network())
			}
			must(t, s.Client().Ping(t.Context()).Err())
			o, err := redis.ParseURL(s.URL())
			must(t, err)
			c := redis.NewClient(o)
			defer c.Close()
			must(t, c.Ping(t.Context()).Err())
		})
		t.Run(network+" server restarts at the same address", func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, options...)
			c, pid := s.Client(), s.PID()
			s.Restart()
			must(t, c.Ping(t.Context()).Err())
			if s.PID() == pid {
				t.Error("the process is the same")
			}
		})
	}
	t.Run("configuration reaches the server", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, redistest.Config("maxmemory", "20mb"))
		got, err := s.Client().ConfigGet(t.Context(), "maxmemory").Result()
		must(t, err)
		if got["maxmemory"] != "20971520" {
			t.Errorf("maxmemory is %v", got)
		}
	})
}

func TestServer_Kill(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		options []redistest.Option
		want    int64
	}{
		{"data survives with AOF", []redistest.Option{redistest.AOF()}, 1},
		{"data is gone without AOF", nil, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, c.options...)
			client := s.Client()
			must(t, client.Set(t.Context(), "k", "v", 0).Err())
			s.Kill()
			if err := client.Ping(t.Context()).Err(); err == nil {
				t.Error("a killed server answers")
			}
			s.Restart()
			if got := client.Exists(t.Context(), "k").Val(); got != c.want {
				t.Errorf("%d keys after restart, want %d", got, c.want)
			}
		})
	}
}

func TestServer_Stop(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := redis.NewClient(&redis.Options{
		Network: s.Network(), Addr: s.Addr(), MaxRetries: -1, ReadTimeout: 50 * time.Millisecond,
	})
	defer c.Close()
	must(t, c.Ping(t.Context()).Err())
	s.Stop()
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("a frozen server answers")
	}
	s.Cont()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	must(t, s.Client().Ping(ctx).Err())
}

func TestServer_cleanup(t *testing.T) {
	t.Parallel()
	var s *redistest.Server
	t.Run("test", func(t *testing.T) { s = redistest.Start(t) })
	c := redis.NewClient(&redis.Options{
		Network: s.Network(), Addr: s.Addr(), MaxRetries: -1, DialerRetries: 1,
	})
	defer c.Close()
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("the server outlives its test")
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		redistest.Start(b).Kill()
	}
}
