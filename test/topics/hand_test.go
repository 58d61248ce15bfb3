package topictest_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/redistest"
	topictest "github.com/waybillhq/waybill/test/topics"
)

const metaKey = "wb:{orders}:sub:mail:meta"

// TestByHand sets a group back, then a cursor, and at last deletes the stream, by hand, while four worker processes take what
// a publisher brings. A subscription without a worker holds the stream, so that all that is set back to is still there.
func TestByHand(t *testing.T) {
	t.Parallel()
	const n, more, rounds = 2000, 300, 4
	s := newStand(t, redistest.Start(t), "mail", "holder")
	ctx := t.Context()
	for range 4 {
		s.subscriber("mail", func(o *topictest.Orders) { o.Guards, o.Takes, o.Lease = true, 5*time.Millisecond, time.Minute })
	}
	publisher := s.publisher(0, n, 60*time.Millisecond) // for six seconds
	for i := range 2 * rounds {
		s.reach(publisher, (i+1)*n/(2*rounds+3))
		first, err := s.rdb.XRangeN(ctx, streamKey, "-", "+", 1).Result()
		must(t, err)
		switch {
		case i < rounds:
			must(t, s.rdb.XGroupSetID(ctx, streamKey, "mail", "0").Err())
		case i%2 == 0:
			must(t, s.rdb.HSet(ctx, metaKey, "cursor", first[0].ID).Err())
		default:
			must(t, s.rdb.HSet(ctx, metaKey, "cursor", "0-0", "cursor_n", 0).Err())
		}
	}
	publisher.Signal(syscall.SIGSTOP) // so that it is not done before the stream is deleted, however slow the machine is
	last := s.stats().Published
	s.until("the cursor is where it was", func() bool { s.leasedOnce(); return of(s.stats(), "mail").Taken >= last })
	must(t, s.client.Queue("orders/mail").Pause(ctx, "a test")) // so that some events are surely not taken
	publisher.Signal(syscall.SIGCONT)
	s.reach(publisher, n*(2*rounds+2)/(2*rounds+3))
	must(t, s.rdb.Del(ctx, streamKey).Err())
	must(t, s.client.Queue("orders/mail").Resume(ctx))
	if told(publisher).To == n {
		t.Error("all was published before the stream was deleted")
	}
	s.ended(publisher)
	s.ended(s.publisher(n, n+more, 0))
	s.drained("mail")

	runs, err := s.rdb.HGetAll(ctx, topictest.KeyRuns).Result()
	must(t, err)
	for id, times := range runs {
		if times != "1" {
			t.Errorf("%s was delivered %s times", id, times)
		}
	}
	for i := n; i < n+more; i++ {
		if runs[topictest.ID(i)] == "" {
			t.Fatalf("%s was published after the stream was deleted, and not delivered", topictest.ID(i))
		}
	}
	if got, _ := s.rdb.Get(ctx, topictest.KeyOverlaps).Result(); got != "" {
		t.Errorf("%s attempts began while another of the same event ran", got)
	}
	s.counted(len(runs), n+more)
}

// reach waits until a publisher was told of so many events, and looks at the leases meanwhile.
func (s *stand) reach(publisher *process, events int) {
	s.Helper()
	s.until("events are published", func() bool {
		s.leasedOnce()
		return told(publisher).To >= events
	})
}

// leasedOnce checks that no event has two leases.
func (s *stand) leasedOnce() {
	s.Helper()
	members, err := s.rdb.ZRange(s.Context(), "wb:{orders}:sub:mail:leases", 0, -1).Result()
	must(s.T, err)
	seen := map[string]bool{}
	for _, m := range members {
		_, id, _ := strings.Cut(m[strings.IndexByte(m, ' ')+1:], ":") // TOKEN ORDER:ID
		if seen[id] || id == "" {
			s.Errorf("%q is leased twice: %q", id, members)
		}
		seen[id] = true
	}
}

// counted checks that what was published is what was delivered and what is counted as lost, for both subscriptions.
func (s *stand) counted(delivered, published int) {
	s.Helper()
	st, q := s.stats(), s.queue("mail")
	mail, holder := of(st, "mail"), of(st, "holder")
	s.Logf("%d events were published, %d delivered, %d counted as lost (the last: %d to %d)", st.Published, delivered, mail.Lost, mail.LostFrom, mail.LostTo)
	if int(st.Published) != published || delivered+int(mail.Lost) != published || mail.Lost == 0 || mail.Gone != 0 {
		s.Errorf("mail: %+v; %d delivered of %d", mail, delivered, published)
	}
	if q.Crashes+q.Stale+q.Orphans != 0 || q.Completed != int64(delivered) || q.Deliveries != q.Completed {
		s.Errorf("mail: %+v", q)
	}
	if holder.Lag != st.Entries || holder.Lost+holder.Lag != st.Published || holder.Lost == 0 {
		s.Errorf("holder: %+v", holder)
	}
	if repeated, err := s.rdb.HGet(s.Context(), "wb:{orders}:sub:mail:stats", "repeated").Int(); err != nil || repeated == 0 {
		s.Errorf("mail came by %d events again: %v", repeated, err)
	}
	s.consistent("mail", mail)
}
