package store_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

var everyEnd = []store.End{store.Ack, store.Complete, store.Retry, store.Snooze, store.Release, store.Dead, store.Cancel}

// telling is the settlement of a delivery that tells of effects.
func (f *fixture) telling(d store.Delivery, end store.End, applied, suppressed, mismatches int) store.Settlement {
	f.t.Helper()
	it := f.ending(d, end)
	it.Delay = time.Hour
	it.Effects = store.Effects{Applied: applied, Suppressed: suppressed, Mismatches: mismatches}
	return it
}

// effects are the queue's counters.
func (f *fixture) effects() store.Effects {
	f.t.Helper()
	s := f.stats()
	return store.Effects{Applied: int(s.Effects), Suppressed: int(s.Suppressed), Mismatches: int(s.Mismatches)}
}

func TestSettleEffects(t *testing.T) {
	t.Parallel()
	t.Run("every end may tell of effects, and each is counted", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b", "c", "d", "e", "f", "g")
		for i, d := range f.take(len(everyEnd)) {
			f.is("done", f.end(f.telling(d, everyEnd[i], 100, 10, 1)))
		}
		f.is(store.Effects{Applied: 700, Suppressed: 70, Mismatches: 7}, f.effects())
		f.sound()
	})
	t.Run("of many in one call each is added", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b", "c", "d")
		jobs := f.take(4)
		f.is("done done done done", f.end(f.telling(jobs[0], store.Ack, 1, 0, 0), f.ending(jobs[1], store.Ack),
			f.telling(jobs[2], store.Complete, 0, 2, 0), f.telling(jobs[3], store.Dead, 0, 0, 3)))
		f.is(store.Effects{Applied: 1, Suppressed: 2, Mismatches: 3}, f.effects())
	})
	t.Run("an end that is told again counts nothing", func(t *testing.T) {
		t.Parallel()
		for _, end := range everyEnd {
			f := newFixture(t)
			f.have("a")
			it := f.telling(f.takeOne("a"), end, 1, 1, 1)
			f.is("done already", f.end(it, it))
			f.is("already", f.end(it))
			f.is(store.Effects{Applied: 1, Suppressed: 1, Mismatches: 1}, f.effects())
		}
	})
	t.Run("a lost lease counts nothing", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		first := f.takeOne("a")
		f.pass(time.Minute)
		second := f.takeOne("a")
		gone := f.telling(first, store.Ack, 5, 5, 5)
		gone.Member = "1-Ann.1 3e8F00000000099:z"
		f.is("stale gone", f.end(f.telling(first, store.Ack, 1, 1, 1), gone))
		f.is(store.Effects{}, f.effects())
		f.is("done", f.end(f.telling(second, store.Ack, 0, 1, 0)))
		f.is(store.Effects{Suppressed: 1}, f.effects())
	})
	t.Run("an end that a cancel overtook is counted", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		d := f.takeOne("a")
		f.is("requested", f.changed(f.Cancel(t.Context(), "why", "a")))
		f.is("cancelled", f.end(f.telling(d, store.Retry, 2, 0, 0)))
		f.is(store.Effects{Applied: 2}, f.effects())
	})
	t.Run("counts that are none change nothing", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b")
		jobs := f.take(2)
		before := f.dump()
		for _, bad := range []store.End{
			"ack 1 0", "ack 1 0 0 0", "ack -1 0 0", "ack 1 0 x", "ack 1234567890 0 0", "ack 0 1234567890 0", "ack 0 0 1234567890",
			"ack 1.5 0 0", "ack  1 0 0", "ack 1 0 0 ", "done 1 0 0", " 1 0 0",
		} {
			verdicts, err := f.Settle(t.Context(), []store.Settlement{f.telling(jobs[0], store.Ack, 1, 0, 0), f.ending(jobs[1], bad)})
			if err == nil {
				t.Errorf("%q: %v", bad, verdicts)
			}
			f.same(before)
		}
	})
	t.Run("a count out of bounds is sent as the bound, so that the end is recorded", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		f.is("done", f.end(f.telling(f.takeOne("a"), store.Ack, store.MaxEffects+1, -1, 0)))
		f.is(store.Effects{Applied: store.MaxEffects}, f.effects())
	})
	t.Run("an end without effects writes no counter", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		f.is("done", f.settle(f.takeOne("a"), store.Ack))
		for _, field := range []string{"effects", "suppressed", "mismatches"} {
			if v, ok := f.dump()["stats"].Hash[field]; ok {
				t.Errorf("%s is %s", field, v)
			}
		}
	})
}
