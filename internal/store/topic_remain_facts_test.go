package store_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/store"
)

func TestTopic_Remain(t *testing.T) {
	t.Parallel()
	remain := func(f *topicFixture, name string) store.Subscribed {
		f.t.Helper()
		at, err := f.Subscribe(f.t.Context(), name, store.Beginning, store.Remain)
		f.must(err)
		return at.Word
	}
	t.Run("what is lost is made anew, at its place", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "mail", "other")
		f.have("a", "b")
		f.is("a", f.work("mail", 1))
		f.is(store.SubExists, remain(f, "mail"))
		f.do("DEL", f.base+"subs")
		f.do("HDEL", f.base+"sub:mail:meta", "cursor", "cursor_n")
		f.do("XGROUP", "DESTROY", f.stream(), "mail")
		f.is(store.SubCreated, remain(f, "mail"))
		f.is("b", f.work("mail", 10)) // "a" is in the window
	})
	t.Run("what was ended stays ended, until it is created", func(t *testing.T) {
		t.Parallel()
		f := newTopic(t, "mail", "other")
		left, err := f.Unsubscribe(t.Context(), "mail")
		f.must(err)
		f.is(true, left.Removed)
		f.is(store.SubEnded, remain(f, "mail"))
		f.is(1, len(f.look().Subscriptions))
		f.is(store.SubCreated, f.subscribe("mail", store.Beginning))
		f.is(store.SubExists, remain(f, "mail"))
		f.do("DEL", f.base+"subs")
		f.do("HDEL", f.base+"sub:mail:meta", "cursor", "cursor_n")
		f.do("XGROUP", "DESTROY", f.stream(), "mail")
		f.is(store.SubCreated, remain(f, "mail")) // that it was ended once is forgotten
	})
}
