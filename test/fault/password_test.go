package fault_test

import (
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/redistest"
)

// Connections that were made without the password stay in the client's pool: Redis refuses a short command on one and
// leaves it open. A call meets them one after another, and gets past them.
func TestPasswordComesLate(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	direct := srv.Client()
	must(t, direct.ConfigSet(t.Context(), "requirepass", "secret").Err())
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
	password.Store("secret")
	if e, err := work.Enqueue(t.Context(), newClient(t, rdb), 1); err != nil {
		t.Errorf("with the password: %s, %v", e.Outcome, err)
	}
}
