package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// other is a job with the ID "a" and another payload.
func other() store.Add {
	a := plain("a")
	a.Job.Payload = []byte("other")
	return a
}

// Scenario R5: the same ID with another body.
func TestEnqueueSameID(t *testing.T) {
	t.Parallel()
	otherKind := func() store.Add {
		a := plain("a")
		a.Job.Kind = "other"
		return a
	}
	t.Run("and payload is a duplicate while it waits, runs, is dead and has ended; another is a conflict", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		ask := func(when string) {
			t.Helper()
			before := f.dump()
			if got := f.add(false, plain("a"), other(), otherKind()); got != "duplicate conflict conflict" {
				t.Errorf("%s: %s", when, got)
			}
			f.same(before, "duplicates", "conflicts")
		}
		f.have("a")
		ask("waiting")
		d := f.takeOne("a")
		ask("active")
		f.is("done", f.settle(d, store.Dead))
		ask("dead")
		f.is("requeued", f.changed(f.Requeue(t.Context(), "a")))
		f.is("done", f.settle(f.takeOne("a"), store.Ack))
		ask("completed")
	})
}

func TestEnqueueSameIDElsewhere(t *testing.T) {
	t.Parallel()
	t.Run("in one call: the first wins", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.is("accepted conflict duplicate", f.add(false, other(), plain("a"), other()))
		f.is("other", payload(t, f.takeOne("a")))
	})
	t.Run("from another outbox is a conflict", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		x := plain("a")
		x.Job.Outbox = 'x'
		f.have("a")
		f.is("conflict", f.add(false, x))
	})
	t.Run("options are outside the comparison", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		changed := plain("a")
		changed.Priority, changed.Job.Delay, changed.Job.Headers = 5, time.Hour, map[string]string{"tenant": "t"}
		f.is("duplicate", f.add(false, changed))
	})
	t.Run("is known to its outbox until the relay has read of it", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		x := plain("a")
		x.Job.Outbox = 'x'
		f.add(false, x)
		f.is("done", f.settle(f.takeOne("a"), store.Ack))
		f.is("ack 1 1700000000000", f.rdb.HGet(t.Context(), f.Tag()+"told:x", "a").Val())
		for range 3 {
			f.pass(2 * time.Hour)
			f.take(0) // windows turn
		}
		f.is("duplicate", f.add(false, x))
		f.must(f.rdb.HDel(t.Context(), f.Tag()+"told:x", "a").Err())
		f.is("accepted", f.add(false, x))
	})
}

func payload(t *testing.T, d store.Delivery) string {
	t.Helper()
	rec, err := record.Parse(d.Record)
	if err != nil {
		t.Fatal(err)
	}
	return string(rec.Payload)
}

// Scenario G25: bulk with duplicates, a connection that breaks half-way, and a repeat.
func TestEnqueueBulk(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	adds := many("j", 1000)
	for i := range 100 {
		adds[900+i] = adds[9*i] // repeats an ID and payload
		if i%2 == 0 {
			adds[900+i].Job.Payload = []byte("other")
		}
	}
	l := &lossy{}
	f.rdb.AddHook(l)
	f.have("first")
	l.next = 4 // all tries of the call
	for _, e := range f.Enqueue(t.Context(), adds, false) {
		if !errors.Is(e.Err, store.ErrUnknown) {
			t.Fatalf("outcome %v %v, want ErrUnknown: the reply was lost", e.Outcome, e.Err)
		}
	}
	l.next = 0
	before := f.dump()
	count := map[string]int{}
	for _, word := range strings.Fields(f.add(false, adds...)) {
		count[word]++
	}
	f.is(map[string]int{"duplicate": 950, "conflict": 50}, count)
	f.same(before, "duplicates", "conflicts")
	f.is(int64(901), f.stats().Live())
	f.sound()
}

func TestEnqueueLostReply(t *testing.T) {
	t.Parallel()
	t.Run("a generated ID is nobody else's: accepted", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("first")
		l := &lossy{next: 1}
		f.rdb.AddHook(l)
		generated := plain(record.NewID(time.Now()))
		generated.Job.Named = false
		f.is("accepted", f.add(false, generated))
		f.is(int64(2), f.stats().Live())
	})
	t.Run("a given ID is a duplicate, once", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("first")
		f.rdb.AddHook(&lossy{next: 1})
		f.is("duplicate", f.add(false, plain("a")))
		f.is(int64(2), f.stats().Live())
	})
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	full := func(t *testing.T, n int64) *fixture {
		t.Helper()
		f := newFixture(t)
		f.must(f.Configure(t.Context(), store.Settings{Capacity: &n}))
		return f
	}
	t.Run("more is refused and told, active jobs count", func(t *testing.T) {
		t.Parallel()
		f := full(t, 2)
		f.have("a", "b")
		f.takeOne("a")
		got := f.Enqueue(t.Context(), []store.Add{plain("c")}, false)
		f.is([]store.Enqueued{{Outcome: store.Full, Depth: 2, Capacity: 2}}, got)
		f.is([]int64{1, 2}, []int64{f.stats().Rejected, f.stats().High})
	})
	t.Run("a retry is never refused", func(t *testing.T) {
		t.Parallel()
		f := full(t, 1)
		f.have("a")
		d := f.takeOne("a")
		f.is("full", f.add(false, plain("b")))
		f.is("done", f.settle(d, store.Retry))
		f.takeOne("a")
	})
	t.Run("requeue is an admission", func(t *testing.T) {
		t.Parallel()
		f := full(t, 1)
		f.have("a")
		f.is("done", f.settle(f.takeOne("a"), store.Dead))
		f.have("b")
		f.is("full state gone", f.changed(f.Requeue(t.Context(), "a", "b", "z")))
		f.is("done", f.settle(f.takeOne("b"), store.Ack))
		f.is("requeued", f.changed(f.Requeue(t.Context(), "a")))
	})
	t.Run("nobody overtakes the spill", func(t *testing.T) {
		t.Parallel()
		f := full(t, 1)
		f.is("accepted spilled", f.add(true, plain("a"), plain("b")))
		f.is("done", f.settle(f.takeOne("a"), store.Ack))
		f.is("full", f.add(false, plain("c")))
		f.takeOne("b")
	})
}

func TestSpill(t *testing.T) {
	t.Parallel()
	t.Run("comes back in its order as far as there is room", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		two := int64(2)
		f.must(f.Configure(t.Context(), store.Settings{Capacity: &two}))
		f.is("accepted accepted spilled spilled spilled", f.add(true, many("j", 5)...))
		var got []string
		for len(got) < 5 {
			jobs := f.take(1)
			got = append(got, idsOf(jobs))
			f.is("done", f.settle(jobs[0], store.Ack))
		}
		f.is("j0 j1 j2 j3 j4", strings.Join(got, " "))
		f.is(int64(2), f.stats().High)
		f.emptied()
	})
	t.Run("keeps the due time of a delayed job", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		one := int64(1)
		f.must(f.Configure(t.Context(), store.Settings{Capacity: &one}))
		later, past := plain("later"), plain("past")
		later.Job.Delay, past.Job.At = time.Hour, time.UnixMilli(f.now-1)
		f.is("accepted spilled spilled", f.add(true, plain("a"), later, past))
		due := time.UnixMilli(f.now).Add(time.Hour)
		f.pass(10 * time.Minute)
		f.is("done", f.settle(f.takeOne("a"), store.Ack))
		f.is("", idsOf(f.take(5)))
		f.is([]any{store.Scheduled, due.UnixMilli()}, []any{f.info("later").State, f.info("later").NextAt.UnixMilli()})
		f.is("deleted", f.changed(f.Delete(t.Context(), store.DeleteOptions{}, "later")))
		f.takeOne("past")
	})
	t.Run("is known by its ID", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		zero := int64(0)
		f.must(f.Configure(t.Context(), store.Settings{Capacity: &zero}))
		f.is("spilled", f.add(true, plain("a")))
		f.is("duplicate", f.add(true, plain("a")))
		f.is(store.SpilledState, f.info("a").State)
		f.is("cancelled", f.changed(f.Cancel(t.Context(), "", "a")))
		f.emptied()
	})
}

// A job whose record went by its time leaves its ID free, before any sweep: the ID's next job is a new one.
func TestEnqueueAfterRetention(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T, end store.End) *fixture {
		t.Helper()
		f := newFixture(t)
		f.have("a")
		for range 2 { // so that the old job was a suspect
			f.takeOne("a")
			f.pass(30 * time.Second)
		}
		f.take(0)
		f.pass(time.Hour)
		it := f.ending(f.takeOne("a"), end)
		it.Retention = 3 * time.Hour
		f.is("done", f.end(it))
		for range 2 {
			f.pass(time.Hour + time.Minute)
			f.take(0) // windows turn
		}
		f.pass(time.Hour)
		f.must(f.rdb.Unlink(t.Context(), f.Tag()+"job:a", f.Tag()+"result:a").Err()) // what Redis does now
		f.is("accepted", f.add(false, plain("a")))
		return f
	}
	for _, end := range []store.End{store.Complete, store.Cancel} {
		t.Run(fmt.Sprintf("after %s it survives the sweep and inherits nothing", end), func(t *testing.T) {
			t.Parallel()
			f := setup(t, end)
			d := f.takeOne("a")
			f.is([]int{1, 0, 0}, []int{d.Attempt, d.Failures, d.Crashes})
			f.is(false, f.info("a").CancelRequested)
			f.is("done", f.settle(d, store.Retry))
			f.sound()
			f.emptied()
		})
		t.Run(fmt.Sprintf("after %s it survives a purge of ended jobs", end), func(t *testing.T) {
			t.Parallel()
			f := setup(t, end)
			_, err := f.Purge(t.Context(), store.EndedState, 500)
			f.must(err)
			f.takeOne("a")
			f.sound()
		})
	}
}
