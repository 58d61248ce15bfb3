package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// listed gives the IDs of a state, page by page; between two pages something happens.
func (f *fixture) listed(state store.State, most int, idsOnly bool, between func()) string {
	f.t.Helper()
	var ids []string
	for cursor := ""; ; between() {
		page, err := f.List(f.t.Context(), state, cursor, most, idsOnly)
		f.must(err)
		for _, e := range page.Entries {
			f.must(e.Err)
			ids = append(ids, e.ID)
		}
		if cursor = page.Next; cursor == "" || len(ids) > 1000 {
			return strings.Join(ids, " ")
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	t.Run("leaves out ghosts", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b", "c", "d")
		f.is("cancelled", f.changed(f.Cancel(t.Context(), "", "b")))
		f.is("deleted", f.changed(f.Delete(t.Context(), store.DeleteOptions{}, "c")))
		for _, idsOnly := range []bool{false, true} {
			f.is("a d", f.listed(store.Ready, 1, idsOnly, func() {}))
		}
	})
	t.Run("goes on where it was while jobs are claimed", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.add(false, many("j", 9)...)
		f.is("j0 j1 j4 j5 j8", f.listed(store.Ready, 2, true, func() { f.take(4) }))
	})
	t.Run("goes on where it was while jobs enter in front", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.add(false, many("j", 6)...)
		n := 0
		f.is("j0 j1 j2 j3 j4 j5", f.listed(store.Ready, 2, true, func() {
			n++
			last := plain(strings.Repeat("x", n))
			last.LIFO = true
			f.add(false, last)
		}))
	})
	t.Run("shows each state, in order, by pages", func(t *testing.T) {
		t.Parallel()
		f := everyState(t)
		for state, want := range map[store.State]string{
			store.Ready: "urgent ready", store.Scheduled: "due", store.RetryState: "retry", store.Parked: "parked",
			store.ActiveState: "active", store.SpilledState: "spilled", store.DeadState: "dead", store.EndedState: "kept",
		} {
			f.is(want, f.listed(state, 1, false, func() {}))
		}
	})
	t.Run("keeps its place among equal times, also when the last one shown leaves", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		adds := many("j", 7)
		for i := range adds {
			adds[i].Job.Delay = time.Hour
		}
		f.add(false, adds...)
		gone := []string{"j1", "j3", "j5"}
		f.is("j0 j1 j2 j3 j4 j5 j6", f.listed(store.Scheduled, 2, true, func() {
			f.changed(f.Delete(t.Context(), store.DeleteOptions{}, gone[0]))
			gone = append(gone[1:], "z")
		}))
	})
}
