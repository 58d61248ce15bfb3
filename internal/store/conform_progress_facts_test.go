package store_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

func (f *fixture) tell(member string, percent int, note string) store.Verdict {
	f.t.Helper()
	v, err := f.Progress(f.t.Context(), member, percent, note)
	f.must(err)
	return v
}

func TestProgress(t *testing.T) {
	t.Parallel()
	t.Run("is shown with its time, the last one told", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		d := f.takeOne("a")
		f.is((*store.Progress)(nil), f.info("a").Progress)
		f.is(store.Held, f.tell(d.Member(), 0, ""))
		f.is(&store.Progress{At: time.UnixMilli(f.now)}, f.info("a").Progress)
		f.pass(time.Second)
		f.is(store.Held, f.tell(d.Member(), 40, " 4 of  10 "))
		f.is(&store.Progress{Percent: 40, Note: " 4 of  10 ", At: time.UnixMilli(f.now)}, f.info("a").Progress)
	})
	t.Run("of a lost lease writes nothing", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		old := f.takeOne("a")
		f.pass(time.Minute)
		f.takeOne("a")
		before := f.dump()
		f.is(store.Lost, f.tell(old.Member(), 99, "late"))
		f.same(before)
	})
	t.Run("is written and told a cancel that was asked for", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		d := f.takeOne("a")
		f.is("requested", f.changed(f.Cancel(t.Context(), "", "a")))
		f.is(store.CancelledNow, f.tell(d.Member(), 50, "half"))
		f.is("half", f.info("a").Progress.Note)
	})
	t.Run("outlives the attempt, and goes with the job", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		d := f.takeOne("a")
		f.tell(d.Member(), 50, "half")
		f.is("done", f.settle(d, store.Retry))
		f.is("half", f.info("a").Progress.Note)
		f.is(store.Lost, f.tell(d.Member(), 60, "more"))
		f.is("done", f.settle(f.takeOne("a"), store.Ack))
		f.emptied()
	})
}
