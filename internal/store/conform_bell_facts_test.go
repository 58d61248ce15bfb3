package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

func TestStore_Listen(t *testing.T) {
	t.Parallel()
	setUp := func(t *testing.T) (*store.Store, func(string)) {
		t.Helper()
		rdb, prefix := redistest.Shared(t)
		s, err := store.New(rdb, store.Options{Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		return s, func(name string) {
			t.Helper()
			q, err := s.Queue(name)
			if err == nil {
				err = q.Ring(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
	heard := func(t *testing.T, s *store.Store, d time.Duration, names ...string) string {
		t.Helper()
		name, err := s.Listen(t.Context(), names, d)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	t.Run("names the queue that rang, among many, and takes no other's token", func(t *testing.T) {
		t.Parallel()
		s, ring := setUp(t)
		ring("b")
		ring("orders/billing")
		if got := heard(t, s, time.Minute, "a", "orders/billing", "c"); got != "orders/billing" {
			t.Errorf("%q rang", got)
		}
		if got := heard(t, s, time.Millisecond, "a", "orders/billing", "c"); got != "" {
			t.Errorf("%q rang twice", got)
		}
		if got := heard(t, s, time.Minute, "c", "b"); got != "b" {
			t.Errorf("%q rang", got)
		}
	})
	t.Run("is woken by a bell that rings later", func(t *testing.T) {
		t.Parallel()
		s, ring := setUp(t)
		got := make(chan string, 1)
		go func() {
			name, _ := s.Listen(t.Context(), []string{"a", "b"}, time.Minute)
			got <- name
		}()
		ring("b")
		if name := <-got; name != "b" {
			t.Errorf("%q rang", name)
		}
	})
	t.Run("without a queue only time passes", func(t *testing.T) {
		t.Parallel()
		s, _ := setUp(t)
		if got := heard(t, s, time.Millisecond); got != "" {
			t.Errorf("%q rang", got)
		}
	})
	t.Run("refuses a name that is none", func(t *testing.T) {
		t.Parallel()
		s, _ := setUp(t)
		if _, err := s.Listen(t.Context(), []string{"a", "b}"}, time.Minute); !errors.Is(err, record.ErrInvalid) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestStore_Ears(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rdb               redis.UniversalClient
		listeners, queues int
	}{
		"half of a small pool":              {redis.NewClient(&redis.Options{PoolSize: 6}), 3, 128},
		"at least one":                      {redis.NewClient(&redis.Options{PoolSize: 1}), 1, 128},
		"at most eight":                     {redis.NewClient(&redis.Options{PoolSize: 100}), 8, 128},
		"one queue where it is not known":   {struct{ redis.UniversalClient }{redis.NewClient(&redis.Options{})}, 8, 1},
		"one queue a call on a cluster":     {redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"x:1"}, PoolSize: 4}), 2, 1},
		"a client of the sentinel is plain": {redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", PoolSize: 10}), 5, 128},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() { _ = c.rdb.Close() }()
			s, err := store.New(c.rdb, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if l, q := s.Ears(); l != c.listeners || q != c.queues {
				t.Errorf("%d listeners, %d queues: want %d, %d", l, q, c.listeners, c.queues)
			}
		})
	}
}
