package topictest_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	topictest "github.com/waybillhq/waybill/test/topics"
)

// TestRedisKilled kills Redis five times while events are published and delivered. Its log is synced at every command, so
// whatever it has answered for is there.
func TestRedisKilled(t *testing.T) {
	t.Parallel()
	const n, kills = 3000, 5
	server := redistest.Start(t, redistest.AOF(), redistest.Config("appendfsync", "always"))
	s := newStand(t, server, "mail", "billing").withEffects(sqltest.Postgres(t))
	for _, name := range []string{"mail", "mail", "billing", "billing"} {
		s.subscriber(name)
	}
	publisher := topictest.Orders{Role: topictest.Publish, To: n / 2, Batch: 5, Every: 10 * time.Millisecond}
	publishers := []*process{s.start(publisher)}
	publisher.From, publisher.To = n/2, n
	publishers = append(publishers, s.start(publisher))
	for i := range kills {
		s.until("events are published since Redis came back", func() bool { return told(publishers[0]).To > (i+1)*n/2/(kills+2) })
		server.Kill()
		server.Restart()
	}
	if told(publishers[0]).To == n/2 && told(publishers[1]).To == n {
		t.Error("all events were published before Redis was killed for the last time")
	}
	sum := s.ended(publishers...)
	if got := s.stats().Published; sum.Accepted+sum.Duplicates != n || got != n {
		t.Errorf("%d events were accepted, %d duplicates, %d published, want %d", sum.Accepted, sum.Duplicates, got, n)
	}
	s.drained("mail", "billing")
	for _, name := range []string{"mail", "billing"} {
		st := s.account(name, n)
		t.Logf("%s: %d deliveries, %d crashes, %d effects suppressed, %d stale; %d events were told as duplicates",
			name, st.Deliveries, st.Crashes, st.Suppressed, st.Stale, sum.Duplicates)
	}
}
