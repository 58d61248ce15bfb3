package fault_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// Connections that were made without the password stay in the client's pool: Redis refuses a short command on one and
// leaves it open. A call meets them one after another, and gets past them.
func TestPasswordComesLate(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	direct := srv.Client()
	there, err := store.New(direct, store.Options{})
	must(t, err)
	_, err = there.Appear(t.Context(), "w", []byte("here"), time.Hour)
	must(t, err)
	must(t, direct.ConfigSet(t.Context(), "requirepass", "secret").Err())
	for _, c := range []struct {
		name string
		call func(context.Context, *store.Store, *store.Queue) error
	}{
		{"a script", func(ctx context.Context, _ *store.Store, q *store.Queue) error { return q.Ring(ctx) }},
		{"server", func(ctx context.Context, s *store.Store, _ *store.Queue) error { return second(s.Server(ctx)) }},
		{"settings", func(ctx context.Context, _ *store.Store, q *store.Queue) error { return second(q.Settings(ctx)) }},
		{"register", func(ctx context.Context, _ *store.Store, q *store.Queue) error { return q.Register(ctx) }},
		{"queues", func(ctx context.Context, s *store.Store, _ *store.Queue) error { return second(s.Queues(ctx)) }},
		{"appear", func(ctx context.Context, s *store.Store, _ *store.Queue) error {
			return second(s.Appear(ctx, "w", []byte("here"), time.Hour))
		}},
		{"vanish", func(ctx context.Context, s *store.Store, _ *store.Queue) error { return s.Vanish(ctx, "v") }},
		{"workers", func(ctx context.Context, s *store.Store, _ *store.Queue) error { return second(s.Workers(ctx)) }},
		{"ask", func(ctx context.Context, s *store.Store, q *store.Queue) error {
			return s.Ask(ctx, "w", q.Name(), store.WishQuiet)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := store.New(passwordLate(t, srv), store.Options{})
			must(t, err)
			q, err := s.Queue(queue)
			must(t, err)
			if err := c.call(t.Context(), s, q); err != nil {
				t.Errorf("with the password: %v", err)
			}
		})
	}
}

// passwordLate gives a client that knows the password by now. Three connections in its pool were made before, and
// one in that of pipelines.
func passwordLate(t *testing.T, srv *redistest.Server) *redis.Client {
	t.Helper()
	var password atomic.Value
	password.Store("")
	rdb := redis.NewClient(&redis.Options{
		Network: srv.Network(), Addr: srv.Addr(),
		CredentialsProvider: func() (string, string) { return "", password.Load().(string) },
	})
	t.Cleanup(func() { _ = rdb.Close() })
	held := make([]*redis.Conn, 3)
	for i := range held { // each has a connection of its own
		held[i] = rdb.Conn()
		if held[i].Ping(t.Context()).Err() == nil {
			t.Fatal("no password was asked for")
		}
	}
	for _, c := range held {
		must(t, c.Close()) // back into the pool
	}
	if n := rdb.PoolStats().IdleConns; n != 3 {
		t.Fatalf("%d connections are in the pool, want 3", n)
	}
	_, _ = rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error { return p.Ping(t.Context()).Err() }) // the pool of pipelines
	password.Store("secret")
	return rdb
}

// second is the error of a call that also has an answer.
func second[T any](_ T, err error) error { return err }
