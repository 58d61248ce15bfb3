package devredis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/devredis"
)

func TestStart_memory(t *testing.T) {
	t.Run("stands in where no server is installed", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		s, err := devredis.Start(t.Context(), devredis.Options{})
		must(t, err)
		defer s.Close()
		if s.Durable() || s.Version() != "miniredis" {
			t.Errorf("durable %v, version %q", s.Durable(), s.Version())
		}
		must(t, client(t, s).Set(t.Context(), "k", "v", 0).Err())
	})
	t.Run("keys expire", func(t *testing.T) {
		t.Parallel()
		_, c := start(t, devredis.Options{InMemory: true})
		must(t, c.Set(t.Context(), "long", "v", time.Hour).Err())
		must(t, c.Set(t.Context(), "short", "v", 150*time.Millisecond).Err())
		deadline := time.After(10 * time.Second)
		for c.Exists(t.Context(), "short").Val() == 1 {
			select {
			case <-deadline:
				t.Fatal("the key did not expire")
			default:
			}
		}
		if ttl := c.TTL(t.Context(), "long").Val(); ttl < time.Hour-time.Minute {
			t.Errorf("an hour's TTL is down to %v", ttl)
		}
	})
	t.Run("a taken port is told", func(t *testing.T) {
		t.Parallel()
		s, _ := start(t, devredis.Options{InMemory: true})
		_, err := devredis.Start(t.Context(), devredis.Options{InMemory: true, Addr: hostPort(s)})
		if !errors.Is(err, devredis.ErrAddrInUse) {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("close ends a blocked client and may be repeated", func(t *testing.T) {
		t.Parallel()
		s, c := start(t, devredis.Options{InMemory: true})
		blocked := make(chan error)
		go func() { blocked <- c.BLPop(t.Context(), 0, "bell").Err() }()
		must(t, s.Close())
		if <-blocked == nil {
			t.Error("BLPOP returned a value")
		}
		must(t, s.Close())
		<-s.Done()
	})
}
