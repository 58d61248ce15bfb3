package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

func TestSettle(t *testing.T) {
	t.Parallel()
	t.Run("stale token writes nothing", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		first := f.takeOne("a")
		f.pass(time.Minute)
		second := f.takeOne("a")
		for _, end := range []store.End{store.Ack, store.Complete, store.Retry, store.Snooze, store.Release, store.Dead, store.Cancel} {
			before := f.dump()
			f.is("stale", f.settle(first, end))
			f.same(before, "stale")
		}
		before := f.dump()
		verdicts, err := f.Renew(t.Context(), time.Hour, []string{first.Member()})
		f.must(err)
		f.is([]store.Verdict{store.Lost}, verdicts)
		f.same(before)
		f.is(int64(7), f.stats().Stale)
		f.is("done", f.settle(second, store.Ack))
		f.is("stale", f.settle(first, store.Ack))
	})
	t.Run("repeated, it says already and changes nothing", func(t *testing.T) {
		t.Parallel()
		for _, end := range []store.End{store.Ack, store.Complete, store.Retry, store.Snooze, store.Release, store.Dead, store.Cancel} {
			f := newFixture(t)
			f.have("a", "b")
			it := f.ending(f.takeOne("a"), end)
			it.Delay, it.Retention = time.Minute, time.Hour
			f.is("done", f.end(it))
			before := f.dump()
			f.is("already", f.end(it))
			f.same(before)
		}
	})
	t.Run("of a job that was taken by another since is stale, not already", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		released := f.takeOne("a")
		f.is("done", f.settle(released, store.Release))
		f.is("already", f.settle(released, store.Release))
		f.takeOne("a")
		f.is("stale", f.settle(released, store.Release))
	})
}

func TestSettleMany(t *testing.T) {
	t.Parallel()
	t.Run("answers each of many", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b", "c", "d")
		jobs := f.take(4)
		gone := f.ending(jobs[0], store.Ack)
		gone.Member = "1-Ann.1 3e8F00000000099:z"
		f.is("cancelled", strings.Fields(f.cancelled(jobs[1]))[0])
		f.is("done already done gone done", f.end(f.ending(jobs[0], store.Complete), f.ending(jobs[0], store.Ack),
			f.ending(jobs[2], store.Ack), gone, f.ending(jobs[3], store.Dead)))
		f.sound()
	})
	t.Run("keeps a result for its time, or the word that it was too large", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b", "c")
		for i, d := range f.take(3) {
			it := f.ending(d, store.Complete)
			it.Retention = time.Hour
			it.Result = [][]byte{[]byte("\x00r"), nil, {}}[i]
			it.Dropped = i == 1
			f.is("done", f.end(it))
		}
		f.is([]any{[]byte("\x00r"), false, store.CompletedState}, []any{f.info("a").Result, f.info("a").ResultDropped, f.info("a").State})
		f.is([]any{[]byte(nil), true}, []any{f.info("b").Result, f.info("b").ResultDropped})
		f.is([]byte{}, f.info("c").Result)
		f.pass(time.Hour)
		f.take(0)
		f.is(store.CompletedState, f.info("a").State) // the window knows
		f.emptied()
	})
}

func TestSettleCounts(t *testing.T) {
	t.Parallel()
	t.Run("keeps the last ten errors", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		for i := range 12 {
			it := f.ending(f.takeOne("a"), store.Retry)
			it.Line = store.Error{Attempt: i + 1, Type: "failure", Message: fmt.Sprintf("no %d", i+1)}.Line()
			f.is("done", f.end(it))
		}
		info := f.info("a")
		f.is([]int{12, 12, 10}, []int{info.Attempt, info.Failures, len(info.Errors)})
		f.is("no 3 … no 12", info.Errors[0].Message+" … "+info.Errors[9].Message)
	})
	t.Run("counts every delivery once, however it ends", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b", "c", "d", "e", "f")
		ends := []store.End{store.Ack, store.Retry, store.Snooze, store.Release, store.Dead}
		jobs := f.take(6)
		for i, end := range ends {
			f.is("done", f.settle(jobs[i], end))
		}
		f.pass(time.Minute) // the sixth crashes
		f.take(0)
		s := f.stats()
		f.is(s.Deliveries, s.Completed+s.Failures+s.Snoozes+s.Released+s.Crashes)
		f.is([]int64{1, 2, 1, 1, 1}, []int64{s.Completed, s.Failures, s.Snoozes, s.Released, s.Crashes})
	})
}

// cancelled asks for a cancel and lets the attempt go back.
func (f *fixture) cancelled(d store.Delivery) string {
	f.t.Helper()
	f.is("requested", f.changed(f.Cancel(f.t.Context(), "why", d.ID)))
	return f.settle(d, store.Release)
}

// An attempt that lost its lease is told so, whatever became of the job under its token.
func TestSettleAfterLoss(t *testing.T) {
	t.Parallel()
	lost := func(t *testing.T, allowance int64, then func(*fixture)) {
		t.Helper()
		f := newFixture(t)
		f.must(f.Configure(t.Context(), store.Settings{CrashAllowance: &allowance}))
		f.have("a")
		d := f.takeOne("a")
		f.pass(time.Minute)
		then(f)
		before := f.dump()
		f.is("stale", f.settle(d, store.Ack))
		f.same(before, "stale")
	}
	t.Run("it is dead by its crash", func(t *testing.T) {
		t.Parallel()
		lost(t, 0, func(f *fixture) { f.take(0) })
	})
	t.Run("it was dead and is requeued", func(t *testing.T) {
		t.Parallel()
		lost(t, 0, func(f *fixture) {
			f.take(0)
			f.is("requeued", f.changed(f.Requeue(f.t.Context(), "a")))
		})
	})
	t.Run("it is back and then cancelled", func(t *testing.T) {
		t.Parallel()
		lost(t, 5, func(f *fixture) {
			f.take(0)
			f.is("cancelled", f.changed(f.Cancel(f.t.Context(), "no", "a")))
		})
	})
	t.Run("it was to be cancelled", func(t *testing.T) {
		t.Parallel()
		lost(t, 5, func(f *fixture) {
			f.is("requested", f.changed(f.Cancel(f.t.Context(), "no", "a")))
			f.take(0)
		})
	})
	t.Run("it was deleted with force", func(t *testing.T) {
		t.Parallel()
		lost(t, 5, func(f *fixture) {
			f.is("deleted", f.changed(f.Delete(f.t.Context(), store.DeleteOptions{Force: true}, "a")))
		})
	})
}

func TestRenew(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.have("a", "b", "c")
	jobs := f.take(3)
	f.is("requested", f.changed(f.Cancel(t.Context(), "no", "b")))
	f.is("done", f.settle(jobs[2], store.Ack))
	f.pass(20 * time.Second)
	verdicts, err := f.Renew(t.Context(), time.Minute, []string{jobs[0].Member(), jobs[1].Member(), jobs[2].Member()})
	f.must(err)
	f.is([]store.Verdict{store.Held, store.CancelledNow, store.Lost}, verdicts)
	f.is(f.now+60_000, f.info("a").LeaseEndsAt.UnixMilli())
	f.pass(59 * time.Second)
	f.take(0)
	f.is(store.ActiveState, f.info("a").State)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	t.Run("of a waiting job is final, and it stays readable for an hour", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b")
		f.is("cancelled ended gone", f.changed(f.Cancel(t.Context(), "no need", "a", "a", "z")))
		f.is("b", idsOf(f.take(10)))
		f.pass(time.Hour - time.Millisecond)
		f.take(0)
		f.is([]any{store.CancelledState, "no need"}, []any{f.info("a").State, f.info("a").Reason})
		f.is(int64(1), f.stats().Cancelled)
		f.emptied()
	})
	t.Run("of an active job is honoured when it would go back, and moot when it is done", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b", "c", "d")
		jobs := f.take(4)
		f.is("requested requested requested requested", f.changed(f.Cancel(t.Context(), "no", "a", "b", "c", "d")))
		f.is("cancelled cancelled cancelled done", f.end(f.ending(jobs[0], store.Retry), f.ending(jobs[1], store.Snooze),
			f.ending(jobs[2], store.Release), f.ending(jobs[3], store.Ack)))
		f.is([]int64{3, 1}, []int64{f.stats().Cancelled, f.stats().Completed})
		f.sound()
	})
}
