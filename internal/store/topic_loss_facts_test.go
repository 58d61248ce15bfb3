package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// TestTopicLoss is what becomes of a topic from which something was taken or moved by hand.
func TestTopicLoss(t *testing.T) {
	t.Parallel()
	id := func(n int) string { return fmt.Sprintf("%d-%d", epoch, n) }
	t.Run("a deleted stream: the next event is delivered, those that are gone are counted", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing", "mail")
		f.have("a", "b", "c")
		f.is("a", f.take("billing", 1))
		f.do("DEL", f.stream())
		f.is("2, 2 to 3", f.lost("billing")) // before any claim met it
		f.is(int64(2), f.sub("billing").Gone)
		f.is("", f.take("billing", 10))
		f.have("d")
		f.is("d", f.take("billing", 10))
		f.is("d", f.take("mail", 10))
		f.is("2, 2 to 3", f.lost("billing"))
		f.is("3, 1 to 3", f.lost("mail"))
		f.is(int64(0), f.sub("billing").Gone)
	})
	t.Run("a subscription of an empty stream knows the last event, also where stream and fields are gone", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b", "c")
		f.do("DEL", f.stream())
		_, err := f.Unsubscribe(t.Context(), "billing")
		f.must(err)
		f.is(store.SubCreated, f.subscribe("billing", store.Beginning))
		f.do("HDEL", f.Tag()+"meta", "n", "last")
		f.pass(-time.Minute)
		f.have("d")
		entries, err := f.rdb.XRange(t.Context(), f.stream(), "-", "+").Result()
		f.must(err)
		f.is(id(3), entries[0].ID) // behind that of c, though the clock is before it
		f.is("d", f.take("billing", 1))
	})
	t.Run("entries deleted one by one are counted with their range", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b", "c", "d", "e")
		f.do("XDEL", f.stream(), id(1), id(3))
		f.is("a c e", f.take("billing", 10))
		f.is("2, 2 to 4", f.lost("billing"))
		f.is(int64(0), f.sub("billing").Lag)
	})
	t.Run("a trim by hand is counted", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b", "c")
		f.do("XTRIM", f.stream(), "MAXLEN", "1")
		f.is("c", f.take("billing", 10))
		f.is("2, 1 to 2", f.lost("billing"))
	})
	for name, args := range map[string][]any{
		"destroyed":   {"XGROUP", "DESTROY"},
		"set back":    {"XGROUP", "SETID", 0, "0"},
		"set forward": {"XGROUP", "SETID", 0, "$"},
	} {
		t.Run("a group "+name+" changes nothing and stands at the cursor again", func(t *testing.T) {
			t.Parallel()
			f := newTopic(t, "billing")
			f.have("a", "b", "c", "d")
			f.is("a b", f.take("billing", 2))
			cmd := []any{args[0], args[1], f.stream(), "billing"}
			if len(args) > 2 {
				cmd = append(cmd, args[3])
			}
			f.do(cmd...)
			f.is(int64(2), f.trim())
			f.is("c", f.take("billing", 1))
			groups, err := f.rdb.XInfoGroups(t.Context(), f.stream()).Result()
			f.must(err)
			f.is(id(2), groups[0].LastDeliveredID)
			f.is("d", f.take("billing", 10))
			f.is("0, 0 to 0", f.lost("billing"))
		})
	}
	t.Run("a cursor set back leases nothing twice", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.set(store.TopicSettings{Keep: pointer(time.Hour)})
		f.have("a", "b", "c", "d")
		jobs := f.claim("billing", 3).Jobs
		f.end("billing", store.Ack, jobs[0])
		f.end("billing", store.Dead, jobs[1])
		f.do("HSET", f.base+"sub:billing:meta", "cursor", "0-0", "cursor_n", "0")
		f.is("d", f.take("billing", 10))
		s, err := f.queue("billing").Stats(t.Context())
		f.must(err)
		f.is([]int64{2, 1, 4, 3}, []int64{s.Active, s.Dead, s.Accepted, f.counter("billing", "repeated")})
		f.is("0, 0 to 0", f.lost("billing"))
	})
	t.Run("a cursor set back below what was cut counts nothing as lost that was delivered", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b", "c", "d")
		f.is("a b", f.work("billing", 2))
		f.is(int64(2), f.trim())
		f.do("HSET", f.base+"sub:billing:meta", "cursor", "0-0", "cursor_n", "0")
		s := f.sub("billing")
		f.is([]int64{2, 0, 0}, []int64{s.Lag, s.Gone, s.Lost})
		f.do("XDEL", f.stream(), id(2))
		f.is("1, 3 to 3", f.lost("billing"))
		f.is("d", f.work("billing", 10))
		f.is("1, 3 to 3", f.lost("billing"))
	})
	t.Run("a cursor set back and detached counts nothing as lost that was delivered", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b", "c", "d")
		f.is("a b", f.work("billing", 2))
		f.is(int64(2), f.trim())
		f.do("HSET", f.base+"sub:billing:meta", "cursor", "0-0", "cursor_n", "0", "detached", epoch)
		f.do("XDEL", f.stream(), id(2))
		f.is(int64(1), f.stand("billing", store.Beginning, true).Lost)
		f.is("d", f.work("billing", 10))
		f.is("1, 3 to 3", f.lost("billing"))
	})
	t.Run("a lost cursor is found where the group stands", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.set(store.TopicSettings{Keep: pointer(time.Hour)})
		f.have("a", "b", "c")
		f.is("a b", f.work("billing", 2))
		f.do("HDEL", f.base+"sub:billing:meta", "cursor", "cursor_n")
		f.trim()
		f.is("c", f.work("billing", 10))
		f.have("d")
		f.do("HSET", f.base+"sub:billing:meta", "cursor", "nonsense")
		f.trim()
		f.is("d", f.work("billing", 10))
		f.is(int64(0), f.sub("billing").Lag)
		f.is("0, 0 to 0", f.lost("billing"))
	})
	t.Run("a lost cursor without a group begins anew, and known events are passed by", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.set(store.TopicSettings{Keep: pointer(time.Hour)})
		f.have("a", "b", "c")
		f.is("a b", f.work("billing", 2))
		f.do("HDEL", f.base+"sub:billing:meta", "cursor")
		f.do("XGROUP", "DESTROY", f.stream(), "billing")
		f.is(int64(0), f.trim())
		f.is("c", f.take("billing", 10))
		f.is(int64(2), f.counter("billing", "repeated"))
	})
	t.Run("a lost list of subscriptions is made anew by claims, and cuts nothing before", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing", "mail")
		f.have("a", "b")
		f.do("DEL", f.base+"subs")
		f.is(int64(0), f.trim())
		f.is("nobody", f.add(event("c")))
		f.is("a", f.work("billing", 1))
		f.have("c")
		f.is("b c", f.work("billing", 10))
		f.trim()
		f.is("a b c", f.work("mail", 10))
		f.is(2, len(f.look().Subscriptions))
	})
	t.Run("a last ID that is none is found in the stream", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b")
		f.do("HSET", f.Tag()+"meta", "last", "nonsense")
		f.have("c")
		f.is(id(2), f.look().Last)
		f.is("a b c", f.take("billing", 10))
	})
	t.Run("lost fields of the topic are found in the stream", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b")
		f.do("DEL", f.Tag()+"meta")
		f.have("c")
		s := f.look()
		f.is([]any{int64(3), id(2)}, []any{s.Published, s.Last})
		f.is("a b c", f.take("billing", 10))
		f.is("0, 0 to 0", f.lost("billing"))
	})
}

// counter is a lifetime counter of a subscription.
func (f *topicFixture) counter(name, field string) int64 {
	f.t.Helper()
	n, err := f.rdb.HGet(f.t.Context(), f.base+"sub:"+name+":stats", field).Int64()
	f.must(err)
	return n
}

// TestStrangeEntries is what becomes of entries that publish did not write.
func TestStrangeEntries(t *testing.T) {
	t.Parallel()
	head := "n-12345678901orders\n\x00"
	for name, fields := range map[string][]any{
		"of other fields":          {"key", "value"},
		"of other order":           {"id", "x", "n", "2", "head", head, "payload", "p"},
		"without a number":         {"n", "two", "id", "x", "head", head, "payload", "p"},
		"of a number too large":    {"n", "9007199254740993000", "id", "x", "head", head, "payload", "p"},
		"of a number with a point": {"n", "2.5", "id", "x", "head", head, "payload", "p"},
		"of an ID with a newline":  {"n", "2", "id", "x\ny", "head", head, "payload", "p"},
		"of an ID with a space":    {"n", "2", "id", "x y", "head", head, "payload", "p"},
		"without an ID":            {"n", "2", "id", "", "head", head, "payload", "p"},
		"of a head cut short":      {"n", "2", "id", "x", "head", "n-", "payload", "p"},
		"without a kind":           {"n", "2", "id", "x", "head", "n-12345678901\n\x00", "payload", "p"},
		"without a payload":        {"n", "2", "id", "x", "head", head},
	} {
		t.Run(name+" are passed by and counted", func(t *testing.T) {
			t.Parallel()
			f := newTopic(t, "billing")
			f.have("a")
			f.do(append([]any{"XADD", f.stream(), fmt.Sprintf("%d-0", epoch+5000)}, fields...)...)
			f.have("b", "c")
			f.is("a b c", f.take("billing", 10))
			f.is(int64(1), f.counter("billing", "strange"))
			f.is("0, 0 to 0", f.lost("billing"))
			f.is(int64(4), f.trim())
		})
	}
	t.Run("hundreds in a row are passed by in a few claims", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a")
		for i := range 300 {
			f.do("XADD", f.stream(), fmt.Sprintf("%d-%d", epoch, i+1), "k", "v")
		}
		f.have("b")
		s := f.sub("billing")
		f.is([]int64{2, 0}, []int64{s.Lag, s.Lost})
		f.is("a", f.take("billing", 1))
		f.is(int64(1), f.sub("billing").Lag)
		got := f.claim("billing", 10)
		f.is([]int64{0, 1}, []int64{int64(len(got.Jobs)), got.Left})
		f.take("billing", 10)
		f.is("b", f.take("billing", 10))
		f.is(int64(300), f.counter("billing", "strange"))
	})
	for _, ms := range []string{"17592186044416", "9007199254740993", "1152921504606846977"} {
		t.Run("of an ID far ahead, "+ms+", do not stop publishing", func(t *testing.T) {
			t.Parallel()
			f := newTopic(t, "billing")
			f.have("a")
			f.do("XADD", f.stream(), ms+"-3", "k", "v")
			f.have("b", "c")
			f.have("d")
			f.is(ms+"-6", f.look().Last)
			f.is("a b", f.work("billing", 2))
			f.is(int64(3), f.trim())
			f.is("c d", f.work("billing", 10))
			f.pass(time.Second)
			f.have("e")
			f.is("e", f.take("billing", 10))
		})
	}
	for last, next := range map[string]string{
		"1152921504606846977-9007199254740993":     "1152921504606846978-0",
		"1152921504606846999-18446744073709551615": "1152921504606847000-0",
		"18446744073709551615-7":                   "18446744073709551615-8",
	} {
		t.Run("of an ID far ahead, "+last+", or such a place set by hand, do not stop publishing", func(t *testing.T) {
			t.Parallel()
			f := newTopic(t, "billing")
			f.have("a")
			f.do("XSETID", f.stream(), last)
			f.have("b")
			f.is(next, f.look().Last)
			f.is("a b", f.work("billing", 10))
			f.is(int64(2), f.trim())
			f.have("c")
			f.is("c", f.work("billing", 10))
			f.is("0, 0 to 0", f.lost("billing"))
		})
	}
	t.Run("whose number is another event's are counted as far as they go", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a")
		f.do("XADD", f.stream(), fmt.Sprintf("%d-1", epoch), "n", "1", "id", "a", "head", head, "payload", "p")
		f.have("b")
		f.is("a b", f.take("billing", 10))
		f.is(int64(1), f.counter("billing", "repeated"))
		f.is("0, 0 to 0", f.lost("billing"))
	})
}
