package store_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// TestSubscriptionClaim_beside is what claims of a subscription do beside other things that go on.
func TestSubscriptionClaim_beside(t *testing.T) {
	t.Parallel()
	t.Run("of the same number brings ready jobs and new events again, and no more", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b", "c", "d")
		f.end("billing", store.Release, f.claim("billing", 2).Jobs...)
		first := f.claim("billing", 3)
		f.is(3, len(first.Jobs))
		f.have("e")
		f.end("billing", store.Ack, first.Jobs[0])
		second := f.again("billing", 3)
		f.is(true, second.Again)
		f.is(first.Jobs[1:], second.Jobs)
		f.is("d e", f.take("billing", 10))
		f.claims["billing"]--
		f.is([]any{true, 0}, []any{f.again("billing", 10).Late, len(f.again("billing", 10).Jobs)})
	})
	t.Run("parks events of a kind without room, and takes them first when there is room", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.must(f.queue("billing").Configure(t.Context(), store.Settings{Capacity: pointer(int64(4))}))
		f.have("a", "b", "c", "d", "e", "f")
		c := store.Claim{Worker: "Bob", Number: 1, Most: 10, Lease: time.Minute, Kinds: []string{"orders"}, Room: map[string]int{"orders": 1}}
		got, err := f.queue("billing").Claim(t.Context(), c)
		f.must(err)
		f.is("a", idsOf(got.Jobs))
		s := f.sub("billing")
		f.is([]int64{1, 3, 2, 3}, []int64{s.Active, s.Parked, s.Lag, got.Parked})
		f.end("billing", store.Ack, got.Jobs...)
		f.is("b c d e", f.work("billing", 10))
		f.is("f", f.work("billing", 10))
		f.is("0, 0 to 0", f.lost("billing"))
	})
	t.Run("while it is unsubscribed and made again delivers what is held no second time", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing", "mail")
		f.have("a", "b", "c")
		held := f.claim("billing", 2).Jobs
		f.end("billing", store.Ack, held[0])
		_, err := f.Unsubscribe(t.Context(), "billing")
		f.must(err)
		f.is(store.SubCreated, f.subscribe("billing", store.Beginning))
		f.is("c", f.take("billing", 10))
		f.end("billing", store.Ack, held[1])
		f.have("d")
		f.is("d", f.work("billing", 10))
		f.is("0, 0 to 0", f.lost("billing"))
	})
	t.Run("of one that was detached meanwhile lets what is held be settled and be retried", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b", "c")
		held := f.claim("billing", 2).Jobs
		f.do("HSET", f.base+"sub:billing:meta", "detached", f.now)
		f.end("billing", store.Ack, held[0])
		f.end("billing", store.Release, held[1])
		f.is("b", f.work("billing", 10))
		f.is(int64(0), f.trim()) // with nobody left to hold it the stream is kept
		at := f.stand("billing", store.FromNow, true)
		f.is([]int64{1, 3}, []int64{at.Lost, at.Taken})
		f.is("1, 3 to 3", f.lost("billing"))
		f.have("d")
		f.is("d", f.work("billing", 10))
	})
	t.Run("takes jobs that a replay added among new events", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b")
		f.is("a b", f.work("billing", 10))
		for _, e := range f.queue("billing").Enqueue(t.Context(), []store.Add{event("r1/a")}, false) {
			f.must(e.Err)
		}
		f.have("c")
		f.is("r1/a c", f.work("billing", 10))
		s := f.sub("billing")
		f.is([]int64{3, 0, 0}, []int64{s.Taken, s.Lag, s.Lost})
	})
}
