package topictest_test

import (
	"fmt"

	"github.com/waybillhq/waybill"
	topictest "github.com/waybillhq/waybill/test/topics"
	"github.com/waybillhq/waybill/topic"
)

// account checks that a subscription without work has each of n events' effects once, lost none, and adds up.
func (s *stand) account(name string, n int) waybill.QueueStats {
	s.Helper()
	q := "orders/" + name
	rows, events := s.effects(name), s.count("SELECT count(DISTINCT event) FROM effect WHERE queue = '"+q+"'")
	receipts := s.count("SELECT count(*) FROM waybill_receipt WHERE scope = '" + q + "'")
	if rows != n || events != n || receipts != n {
		s.Errorf("%s: %d effects of %d events with %d receipts, want %d", name, rows, events, receipts, n)
	}
	first := s.count("SELECT count(*) FROM effect WHERE queue = '" + q + "' AND event >= '" + topictest.ID(0) + "' AND event <= '" + topictest.ID(n-1) + "'")
	if first != n {
		s.Errorf("%s: %d effects are of the events that were published, want %d", name, first, n)
	}
	st := s.queue(name)
	jobs := int64(n)
	if st.Accepted != jobs || st.Completed != jobs || st.Requeued+st.Died+st.Cancelled+st.Deleted+st.Live()+st.Orphans != 0 ||
		st.Deliveries < jobs || st.Deliveries != st.Completed+st.Failures+st.Crashes+st.Snoozes+st.Released {
		s.Errorf("%s: the account is %+v", name, st)
	}
	s.whole(name)
	return st
}

// whole checks that a subscription lost nothing, that all jobs stand where they should, and that cursor and group agree.
func (s *stand) whole(name string) {
	s.Helper()
	ctx, st := s.Context(), s.stats()
	x := of(st, name)
	if x.Lost+x.Gone != 0 || x.Taken != st.Published || !x.Detached.IsZero() {
		s.Errorf("%s: lost %d, gone %d, taken %d of %d", name, x.Lost, x.Gone, x.Taken, st.Published)
	}
	must(s.T, s.client.Queue("orders/"+name).Audit(ctx, false, func(f waybill.Finding) { s.Errorf("%s: audit: %+v", name, f) }, nil))
	s.consistent(name, x)
}

// consistent checks that cursor and group agree, and that neither leases nor pending entries are left.
func (s *stand) consistent(name string, x topic.SubscriptionStats) {
	s.Helper()
	leases, err := s.rdb.ZCard(s.Context(), "wb:{orders}:sub:"+name+":leases").Result()
	must(s.T, err)
	groups, err := s.rdb.XInfoGroups(s.Context(), streamKey).Result()
	must(s.T, err)
	said := "no group"
	for _, g := range groups {
		if g.Name == name {
			said = fmt.Sprintf("%s, %d pending", g.LastDeliveredID, g.Pending)
		}
	}
	if want := x.Cursor + ", 0 pending"; said != want || leases != 0 {
		s.Errorf("%s: the group stands at %s and %d leases are left, want %s", name, said, leases, want)
	}
}

// numbered checks that the stream holds n events numbered from 1 without a gap, each of another ID.
func (s *stand) numbered(n int) {
	s.Helper()
	number, ids := 0, map[string]bool{}
	err := s.stream.Events(s.Context(), "", "", func(e topic.Event) error {
		if number++; e.Number != int64(number) || ids[e.ID] {
			return fmt.Errorf("entry %s is event %d, %s; %d came before it", e.Entry, e.Number, e.ID, number-1)
		}
		ids[e.ID] = true
		return nil
	})
	if err != nil || len(ids) != n {
		s.Errorf("the stream holds %d events, want %d: %v", len(ids), n, err)
	}
	for i := range n {
		if !ids[topictest.ID(i)] {
			s.Errorf("the stream has no event %s", topictest.ID(i))
			return
		}
	}
}
