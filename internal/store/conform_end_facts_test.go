package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

func TestDelete(t *testing.T) {
	t.Parallel()
	t.Run("is remembered within the window, and a repeat of the enqueue is a duplicate", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		f.is("deleted", f.changed(f.Delete(t.Context(), store.DeleteOptions{}, "a")))
		f.is(store.DeletedState, f.info("a").State)
		f.is("duplicate", f.add(false, plain("a")))
		f.pass(time.Hour - time.Millisecond)
		f.take(0)
		f.is("duplicate", f.add(false, plain("a")))
		f.emptied()
	})
	t.Run("of an ended job that the window forgot is remembered again, by how it ended", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b")
		s := f.ending(f.takeOne("a"), store.Complete)
		s.Retention = 12 * time.Hour
		f.is("done", f.end(s))
		s = f.ending(f.takeOne("b"), store.Complete)
		s.Retention = 12 * time.Hour
		f.is("done", f.end(s))
		for range 2 {
			f.pass(time.Hour)
			f.take(0) // windows turn
		}
		f.is(0, len(f.dump()["settled:n0"].Hash)+len(f.dump()["settled:n1"].Hash))
		f.is("deleted", f.changed(f.Delete(t.Context(), store.DeleteOptions{}, "a")))
		f.is("deleted", f.changed(f.Delete(t.Context(), store.DeleteOptions{Forget: true}, "b")))
		f.is(store.CompletedState, f.info("a").State)
		f.pass(time.Hour - time.Millisecond)
		f.take(0)
		f.is("duplicate", f.add(false, plain("a")))
		f.is("accepted", f.add(false, plain("b")))
		f.sound()
	})
	t.Run("with forget frees the ID at once", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b")
		f.is("deleted", f.changed(f.Delete(t.Context(), store.DeleteOptions{Forget: true}, "a")))
		f.have("a")
		f.is("deleted", f.changed(f.Delete(t.Context(), store.DeleteOptions{}, "b")))
		f.is("forgotten gone", f.changed(f.Delete(t.Context(), store.DeleteOptions{Forget: true}, "b", "b")))
		f.have("b")
		f.is("a b", idsOf(f.take(5)))
	})
	t.Run("refuses an active job; force makes its token stale", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		d := f.takeOne("a")
		f.is("active", f.changed(f.Delete(t.Context(), store.DeleteOptions{}, "a")))
		f.is("deleted", f.changed(f.Delete(t.Context(), store.DeleteOptions{Force: true}, "a")))
		f.is("stale", f.settle(d, store.Ack))
		f.sound()
	})
}

func TestDeleteMany(t *testing.T) {
	t.Parallel()
	t.Run("counts an ID that is named twice once", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b")
		f.is("deleted gone", f.changed(f.Delete(t.Context(), store.DeleteOptions{}, "a", "a")))
		f.is([]int64{1, 1}, []int64{f.stats().Deleted, f.stats().Live()})
		f.sound()
	})
	t.Run("works in every state, and leaves nothing", func(t *testing.T) {
		t.Parallel()
		f := everyState(t)
		ids := []string{"ready", "urgent", "parked", "due", "retry", "spilled", "dead", "kept", "active"}
		words, err := f.Delete(t.Context(), store.DeleteOptions{Force: true}, ids...)
		f.must(err)
		f.is(slices.Repeat([]store.Change{store.Deleted}, len(ids)), words)
		f.is(int64(0), f.stats().Live())
		f.sound()
		f.take(10) // meets ghosts
		f.emptied()
	})
}

// everyState is a queue with a job in every place, named after it.
func everyState(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.have("retry", "dead", "kept", "active")
	jobs := f.take(4)
	for i, end := range []store.End{store.Retry, store.Dead, store.Complete} {
		it := f.ending(jobs[i], end)
		it.Delay, it.Retention, it.Result = time.Hour, time.Hour, []byte("r")
		it.Line = store.Error{Attempt: 1, Type: "failure", Message: "no"}.Line()
		f.is("done", f.end(it))
	}
	f.have("parked")
	f.claim(store.Claim{Worker: "Bob", Number: 1, Most: 1, Lease: time.Hour, Kinds: []string{"other"}})
	due, urgent := plain("due"), plain("urgent")
	due.Job.Delay, urgent.Priority = time.Hour, 9
	f.add(false, due, urgent, plain("ready"))
	one := int64(1)
	f.must(f.Configure(t.Context(), store.Settings{Capacity: &one}))
	f.is("spilled", f.add(true, plain("spilled")))
	return f
}

func TestPurge(t *testing.T) {
	t.Parallel()
	f := everyState(t)
	for _, state := range []store.State{
		store.Ready, store.Scheduled, store.RetryState, store.Parked, store.SpilledState, store.DeadState, store.EndedState,
	} {
		want := store.Purged{Deleted: 1}
		if state == store.Ready {
			want.Deleted = 2
		}
		got, err := f.Purge(t.Context(), state, 500)
		f.must(err)
		if got != want {
			t.Errorf("purge of %s: %+v, want %+v", state, got, want)
		}
		f.sound()
	}
	f.is(store.ActiveState, f.info("active").State)
	f.is(int64(1), f.stats().Live())
	if _, err := f.Purge(t.Context(), store.ActiveState, 500); !errors.Is(err, record.ErrInvalid) {
		t.Errorf("purge of active jobs: %v, want ErrInvalid", err)
	}
	f.emptied()
}

// ended enqueues a job and works it off.
func (f *fixture) ended(id string) {
	f.t.Helper()
	f.have(id)
	f.is("done", f.settle(f.takeOne(id), store.Ack))
}

func TestWindow(t *testing.T) {
	t.Parallel()
	t.Run("turns by time: an ended job is known for its span, and not for ever", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.ended("a")
		f.pass(time.Hour) // the first turn: a is now in the older generation
		f.take(0)
		f.pass(time.Hour - time.Millisecond)
		f.take(0)
		f.is("duplicate", f.add(false, plain("a")))
		f.is(2*time.Hour-time.Millisecond, f.stats().HorizonNamed)
		f.pass(time.Millisecond)
		f.take(0)
		f.have("a")
		f.is(time.Hour, f.stats().HorizonNamed)
	})
	t.Run("turns by count: two generations at most", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.must(f.rdb.HSet(t.Context(), f.Tag()+"meta", "window_count", 2).Err())
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			f.ended(id)
		}
		f.take(0)
		known := f.dump()
		f.is(3, len(known["settled:n0"].Hash)+len(known["settled:n1"].Hash))
		f.is("duplicate", f.add(false, plain("e")))
		f.have("a")
	})
}

func TestWindowSettings(t *testing.T) {
	t.Parallel()
	t.Run("of generated IDs has its own span", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		g := plain("g")
		g.Job.Named = false
		f.is("accepted", f.add(false, g))
		f.is("done", f.settle(f.takeOne("g"), store.Ack))
		f.ended("a")
		for range 2 {
			f.pass(time.Minute)
			f.take(0)
		}
		f.is("accepted duplicate", f.add(false, g, plain("a")))
	})
	t.Run("is always bounded", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		d := time.Duration(store.Unlimited)
		for _, s := range []store.Settings{{WindowNamed: &d}, {WindowGenerated: &d}} {
			if err := f.Configure(t.Context(), s); !errors.Is(err, record.ErrInvalid) {
				t.Errorf("error is %v, want ErrInvalid", err)
			}
		}
	})
}

func TestDead(t *testing.T) {
	t.Parallel()
	bury := func(f *fixture, ids ...string) {
		f.t.Helper()
		f.have(ids...)
		for _, d := range f.take(len(ids)) {
			it := f.ending(d, store.Dead)
			it.Line = store.Error{Attempt: 1, Type: "failure", Message: "no"}.Line()
			f.is("done", f.end(it))
			f.pass(time.Second)
		}
	}
	t.Run("over the count: the oldest are cut, counted and remembered", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		two := int64(2)
		f.must(f.Configure(t.Context(), store.Settings{DeadCount: &two}))
		bury(f, "a", "b", "c", "d")
		f.is([]int64{2, 2, 4}, []int64{f.stats().Dead, f.stats().DeadCut, f.stats().Died})
		f.is([]store.State{store.DeletedState, store.DeadState}, []store.State{f.info("b").State, f.info("c").State})
		f.is("duplicate", f.add(false, plain("a")))
		f.sound()
	})
	t.Run("over the age: cut by any claim", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		age := time.Hour
		f.must(f.Configure(t.Context(), store.Settings{DeadAge: &age}))
		bury(f, "a")
		f.pass(time.Hour - 2*time.Second)
		f.take(0)
		f.is(int64(1), f.stats().Dead)
		f.pass(time.Second)
		f.take(0)
		f.is([]int64{0, 1}, []int64{f.stats().Dead, f.stats().DeadCut})
		f.emptied()
	})
	t.Run("requeued: counts from zero, errors stay", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		bury(f, "a")
		f.is("requeued state", f.changed(f.Requeue(t.Context(), "a", "a")))
		d := f.takeOne("a")
		f.is([]int{2, 0, 0, 1}, []int{d.Attempt, d.Failures, d.Crashes, len(f.info("a").Errors)})
		f.is("done", f.settle(d, store.Ack))
		f.emptied()
	})
}

// Scenario G21: 20,000 dead with a limit of 10,000.
func TestDeadLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 20 {
		f.add(false, many(string(rune('a'+i)), 1000)...)
		var items []store.Settlement
		for _, d := range f.take(1000) {
			items = append(items, f.ending(d, store.Dead))
		}
		f.end(items...)
		f.pass(time.Second)
		if s := f.stats(); s.Dead > 10_000 {
			t.Fatalf("%d dead after a settle, the limit is 10,000", s.Dead)
		}
	}
	s := f.stats()
	f.is([]int64{10_000, 10_000, 20_000}, []int64{s.Dead, s.DeadCut, s.Died})
	keys, err := f.rdb.Keys(t.Context(), f.Tag()+"job:*").Result()
	f.must(err)
	f.is([]int64{10_000, 10_000}, []int64{int64(len(keys)), f.rdb.HLen(t.Context(), f.Tag()+"runs").Val()})
	found, err := f.Audit(false).Run(t.Context())
	f.must(err)
	f.is(0, len(found))
}

func TestPromote(t *testing.T) {
	t.Parallel()
	f := everyState(t)
	f.is("promoted promoted state state state gone", f.changed(f.Promote(t.Context(), "due", "retry", "ready", "dead", "active", "z")))
	f.is("parked urgent ready due retry", idsOf(f.take(10)))
}
