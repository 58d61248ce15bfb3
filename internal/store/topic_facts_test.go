package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

func TestPublish(t *testing.T) {
	t.Parallel()
	t.Run("the same ID twice is one event, and with another payload a conflict", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		other := event("a")
		other.Job.Payload = []byte("other")
		f.is("accepted duplicate conflict", f.add(event("a"), event("a"), other))
		f.is("duplicate conflict accepted", f.add(event("a"), other, event("b")))
		f.is("a b", f.take("billing", 10))
		s := f.look()
		f.is([]int64{2, 2, 2, 2}, []int64{s.Published, s.Accepted, s.Duplicates, s.Conflicts})
	})
	t.Run("an ID is known for as long as the window says, whatever was cut", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a")
		f.is("a", f.work("billing", 1))
		f.pass(59 * time.Minute)
		f.is(int64(1), f.trim())
		f.is("duplicate", f.add(event("a")))
		for _, id := range []string{"y", "z"} { // the window is turned by what is published
			f.pass(3 * time.Hour)
			f.have(id)
		}
		f.is("accepted", f.add(event("a")))
		f.is(int64(4), f.look().Published)
	})
	t.Run("an ID that the topic knows no longer is a new event, also where a subscription still knows it", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing", "late")
		f.have("a")
		f.is("a", f.work("billing", 10))
		for _, id := range []string{"x", "y", "z"} { // the window of a subscription is turned by its claims
			f.pass(2 * time.Hour)
			f.have(id)
		}
		f.have("a")
		f.is("x y z a", f.work("billing", 10))
		f.do("HSET", f.base+"sub:billing:meta", "cursor", "0-0", "cursor_n", "0")
		f.is("", f.work("billing", 10))
	})
	t.Run("generated IDs have a window of their own", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		drawn := event("g")
		drawn.Job.Named = false
		f.is("accepted", f.add(drawn))
		f.is("duplicate", f.add(drawn))
		f.pass(3 * time.Minute)
		f.have("x")
		f.pass(3 * time.Minute)
		f.have("y")
		f.is("accepted", f.add(drawn))
	})
	t.Run("for nobody and without bound is refused", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t)
		f.is("nobody", f.add(event("a")))
		s := f.look()
		f.is([]int64{0, 0, 1}, []int64{s.Published, s.Entries, s.Rejected})
		f.is(store.SubCreated, f.subscribe("billing", store.Beginning))
		f.is("accepted", f.add(event("a")))
	})
	t.Run("for nobody is kept up to the bound, then full", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t)
		most := int64(3)
		f.set(store.TopicSettings{Capacity: &most})
		f.is("accepted accepted accepted full", f.add(event("a"), event("b"), event("c"), event("d")))
		f.is("full duplicate", f.add(event("d"), event("a")))
		f.subscribe("late", store.Beginning)
		f.is("a b c", f.work("late", 10))
		f.is("accepted", f.add(event("d")))
		f.is("d", f.take("late", 10))
		f.is("0, 0 to 0", f.lost("late"))
	})
	t.Run("a repeated event takes no room of others", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		most := int64(2)
		f.set(store.TopicSettings{Capacity: &most, OnFull: pointer(store.FullDetaches)})
		f.is("accepted accepted duplicate duplicate", f.add(event("a"), event("b"), event("a"), event("b")))
		f.is("duplicate duplicate", f.add(event("a"), event("b")))
		f.is(true, f.sub("billing").Detached.IsZero())
	})
	t.Run("after a reply was lost nothing is added", func(t *testing.T) {
		t.Parallel()
		proxy := redistest.NewProxy(t, redistest.Start(t))
		f := newTopicOn(t, proxy.Client(), "wb", false, "billing")
		f.have("before")
		proxy.LoseReplies("EVALSHA", 1)
		drawn := event("g")
		drawn.Job.Named = false
		f.is("accepted", f.add(drawn))
		f.is(1, proxy.Cuts())
		f.is("before g", f.take("billing", 10))
		f.is(int64(2), f.look().Published)
	})
	t.Run("rings every subscription's bell", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing", "mail")
		f.rings("billing")
		f.rings("mail")
		f.have("a")
		f.is([]bool{true, true}, []bool{f.rings("billing"), f.rings("mail")})
		f.is("duplicate", f.add(event("a")))
		f.is([]bool{false, false}, []bool{f.rings("billing"), f.rings("mail")})
	})
}

func pointer[T any](v T) *T { return &v }

func TestPublish_clockBehind(t *testing.T) {
	t.Parallel()
	t.Run("IDs go on rising, also for a subscription that begins now", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b")
		f.is("a b", f.take("billing", 10))
		f.pass(-time.Hour)
		f.is(store.SubCreated, f.subscribe("late", store.FromNow))
		f.have("c")
		f.is(fmt.Sprintf("%d-2", epoch), f.look().Last)
		f.is("c", f.take("billing", 10))
		f.is("c", f.take("late", 10))
	})
	t.Run("the stream deleted as well, the next event reaches everybody", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b", "c")
		f.is("a", f.take("billing", 1))
		f.do("DEL", f.stream())
		f.pass(-time.Hour)
		f.have("d")
		f.is("d", f.take("billing", 10))
		f.is("2, 2 to 3", f.lost("billing"))
	})
	t.Run("the stream and the topic's fields deleted as well", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b", "c")
		f.is("a b c", f.take("billing", 10))
		f.do("DEL", f.stream(), f.Tag()+"meta")
		f.pass(-time.Hour)
		f.have("d")
		f.is("d", f.take("billing", 10))
		f.is(int64(4), f.look().Published)
		f.is("0, 0 to 0", f.lost("billing"))
	})
}

func TestSubscribe(t *testing.T) {
	t.Parallel()
	t.Run("again changes nothing and says so", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b")
		f.is("a", f.take("billing", 1))
		before := f.sub("billing")
		f.is(store.SubExists, f.subscribe("billing", store.FromNow))
		f.is(before, f.sub("billing"))
		f.is("b", f.take("billing", 1))
	})
	t.Run("begins at the stated place", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "first")
		f.have("a", "b")
		f.pass(time.Second)
		f.have("c", "d")
		for place, want := range map[string]string{
			store.Beginning: "a b c d", store.FromNow: "", "0": "a b c d", "0-1": "a b c d", fmt.Sprint(epoch): "a b c d",
			fmt.Sprintf("%d-1", epoch): "b c d", fmt.Sprintf("%d", epoch+1): "c d", fmt.Sprintf("%d-1", epoch+1000): "d",
		} {
			name := "at" + strings.ReplaceAll(place, "-", "_")
			f.is(store.SubCreated, f.subscribe(name, place))
			f.is(want, f.take(name, 10))
			f.is("0, 0 to 0", f.lost(name))
		}
		f.have("e")
		f.is("e", f.take("atnow", 10))
		f.is(store.SubFuture, f.subscribe("ahead", fmt.Sprint(epoch+3_600_000)))
	})
	t.Run("of a topic that began anew counts what it loses from there on", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b", "c", "d")
		f.is("a b c d", f.work("billing", 10))
		_, err := f.Unsubscribe(t.Context(), "billing")
		f.must(err)
		f.do("DEL", f.stream(), f.Tag()+"meta")
		f.is(store.SubCreated, f.subscribe("billing", store.Beginning))
		f.have("e", "f")
		f.do("XTRIM", f.stream(), "MAXLEN", "1")
		f.is("1, 1 to 1", f.lost("billing"))
		f.is("f", f.work("billing", 10))
		f.is("1, 1 to 1", f.lost("billing"))
	})
	t.Run("the 65th is refused, and a foreign group's name too", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t)
		for i := range store.MaxSubscriptions - 1 {
			f.is(store.SubCreated, f.subscribe(fmt.Sprint("s", i), store.Beginning))
		}
		f.do("XGROUP", "CREATE", f.stream(), "audit", "0")
		f.is(store.SubForeign, f.subscribe("audit", store.Beginning))
		f.is(store.SubCreated, f.subscribe("last", store.Beginning))
		f.is(store.SubMany, f.subscribe("more", store.Beginning))
		f.is(store.SubExists, f.subscribe("last", store.Beginning))
		f.have("a")
		f.is("a", f.take("s62", 1))
		f.is(store.MaxSubscriptions, len(f.look().Subscriptions))
	})
	t.Run("what was unsubscribed keeps its jobs, holds nothing and takes nothing", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing", "mail")
		f.have("a", "b", "c")
		jobs := f.claim("billing", 1).Jobs
		f.end("billing", store.Release, jobs...)
		f.is("a b c", f.work("mail", 10))
		left, err := f.Unsubscribe(t.Context(), "billing")
		f.must(err)
		f.is(store.Left{Removed: true, Lag: 2, Live: 1}, left)
		f.is(int64(0), f.look().Entries)
		f.have("d")
		f.is("a", f.take("billing", 10))
		left, err = f.Unsubscribe(t.Context(), "billing")
		f.must(err)
		f.is(store.Left{}, left)
	})
}

// group makes a consumer group that reads n entries.
func (f *topicFixture) group(name string, n int) (read []string) {
	f.t.Helper()
	f.do("XGROUP", "CREATE", f.stream(), name, "0", "MKSTREAM")
	return f.groupReads(name, n)
}

func (f *topicFixture) groupReads(name string, n int) (read []string) {
	f.t.Helper()
	if n == 0 {
		return nil
	}
	got, err := f.rdb.XReadGroup(f.t.Context(), &redis.XReadGroupArgs{
		Group: name, Consumer: "c", Streams: []string{f.stream(), ">"}, Count: int64(n), Block: -1,
	}).Result()
	f.must(err)
	for _, m := range got[0].Messages {
		read = append(read, m.ID)
	}
	return read
}

func TestForeignGroup(t *testing.T) {
	t.Parallel()
	t.Run("holds what it was not given, and what it did not acknowledge", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a", "b", "c", "d")
		f.is("a b c d", f.work("billing", 10))
		ids := f.group("audit", 2)
		f.is(int64(0), f.trim())
		f.do("XACK", f.stream(), "audit", ids[1])
		f.is(int64(0), f.trim())
		f.do("XACK", f.stream(), "audit", ids[0])
		f.is(int64(2), f.trim())
		g := f.look().Groups[0]
		f.is([]any{"audit", int64(0), int64(2)}, []any{g.Name, g.Pending, g.Behind})
		f.do("XGROUP", "DESTROY", f.stream(), "audit")
		f.is(int64(2), f.trim())
	})
	t.Run("reads kind and payload from documented fields", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.have("a")
		said, err := f.rdb.XRange(t.Context(), f.stream(), "-", "+").Result()
		f.must(err)
		head := said[0].Values["head"].(string)
		kind, _, _ := strings.Cut(head[13:], "\n")
		f.is([]any{"1", "a", "orders", "a", "n-" + record.Fingerprint("orders", []byte("a"))},
			[]any{said[0].Values["n"], said[0].Values["id"], kind, said[0].Values["payload"], head[:13]})
	})
	t.Run("that is furthest behind is let go by a full stream, until it caught up", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.group("audit", 0)
		f.set(store.TopicSettings{Capacity: pointer(int64(2)), OnFull: pointer(store.FullDetaches)})
		f.have("a", "b")
		f.is("a b", f.work("billing", 10))
		f.have("c")
		f.is(false, f.look().Groups[0].Ignored.IsZero())
		f.is("c", f.work("billing", 10))
		for _, id := range f.groupReads("audit", 10) {
			f.do("XACK", f.stream(), "audit", id)
		}
		f.trim()
		f.is(true, f.look().Groups[0].Ignored.IsZero())
		f.have("d")
		f.is("d", f.work("billing", 10))
		f.is(int64(0), f.trim())
	})
	t.Run("that was let go and is made anew is waited for", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "billing")
		f.group("audit", 0)
		f.set(store.TopicSettings{Capacity: pointer(int64(1)), OnFull: pointer(store.FullDetaches)})
		f.have("a")
		f.is("a", f.work("billing", 10))
		f.have("b")
		f.do("XGROUP", "DESTROY", f.stream(), "audit")
		f.trim()
		f.do("XGROUP", "CREATE", f.stream(), "audit", "0")
		f.is("b", f.work("billing", 10))
		f.is(int64(0), f.trim())
	})
}
