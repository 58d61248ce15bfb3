package outbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/devsql"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/outbox"
)

func TestRelay_redisAway(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		server := redistest.Start(t, redistest.AOF(), redistest.Config("appendfsync", "always"))
		s := newStandOn(t, d, outbox.Options{}, server.Client(), "")
		s.enter(requests(20)...)
		s.relay()
		until(t, "the first are sent", func() bool { return s.rows().Sent == 20 })
		server.Kill()
		for i := range 20 {
			s.enter(request(fmt.Sprintf("meanwhile-%d", i)))
		}
		until(t, "it is told", func() bool { return s.told(outbox.EventFailed) > 2 })
		server.Restart()
		until(t, "all arrive", func() bool { return s.rows().Sent == 40 })
		if st := s.stats(); st.Accepted != 40 || s.rows().SetAside != 0 || s.told(outbox.EventLost) != 0 {
			t.Errorf("accepted %d, %+v, told of %d losses", st.Accepted, s.rows(), s.told(outbox.EventLost))
		}
	})
}

// TestRelay_silentSend: Redis is there when a batch begins, and then no call that sends rows comes to it, for longer than a batch
// waits. No row counts as sent, and all are sent later.
func TestRelay_silentSend(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		proxy := redistest.NewProxy(t, redistest.Start(t))
		proxy.Verbs(store.Digests())
		s := newStandOn(t, d, outbox.Options{}, proxy.Client(), "")
		s.enter(requests(20)...)
		proxy.Decide(func(q redistest.Request) redistest.Fate {
			if q.Verb == "enqueue" {
				return redistest.DropRequest
			}
			return redistest.Pass
		})
		s.relay()
		until(t, "the batch ends", func() bool { return s.told(outbox.EventFailed) > 0 || s.rows().Sent > 0 })
		if n := s.rows().Sent; n > 0 {
			t.Errorf("%d rows count as sent, and no call came to Redis", n)
		}
		proxy.Decide(nil)
		until(t, "all are sent", func() bool { return s.rows().Sent == 20 })
		if n := s.stats().Accepted; n != 20 {
			t.Errorf("accepted %d", n)
		}
	})
}

func TestRelay_databaseAway(t *testing.T) {
	t.Parallel()
	for _, dialect := range []outbox.Dialect{outbox.PostgreSQL, outbox.MariaDB} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			server := sqltest.Start(t, dialect, devsql.Options{})
			s := newStand(t, sqltest.On(t, server), outbox.Options{})
			s.enter(requests(20)...)
			s.relay()
			until(t, "the first are sent", func() bool { return s.rows().Sent == 20 })
			server.Kill()
			until(t, "it is told", func() bool { return s.told(outbox.EventFailed) > 1 })
			if err := server.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.enter(request("after"))
			until(t, "it goes on", func() bool { return s.rows().Sent == 21 })
			if st := s.stats(); st.Accepted != 21 {
				t.Errorf("accepted %d", st.Accepted)
			}
		})
	}
}

func TestRelay_manyQueues(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{Read: time.Minute})
		n := 120
		if d.Dialect == outbox.SQLite {
			n = 50 // after each the relay rests, nineteen times as long as it held the lock
		}
		var all []waybill.Request
		for i := range n {
			all = append(all, waybill.Request{Queue: fmt.Sprintf("q%d", i), Kind: "k"})
		}
		s.enter(all...)
		began := time.Now()
		s.relay()
		until(t, "all are served", func() bool { return s.inState("sent") == int64(n) })
		t.Logf("%d queues in %s", n, time.Since(began))
	})
}
