package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/store"
)

// lossy loses the replies of the next commands, after the server has carried them out.
type lossy struct{ next int }

func (*lossy) DialHook(next redis.DialHook) redis.DialHook { return next }
func (*lossy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l *lossy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "evalsha" && err == nil && l.next > 0 {
			l.next--
			cmd.SetErr(io.ErrUnexpectedEOF)
			return io.ErrUnexpectedEOF
		}
		return err
	}
}

// pair is a claim of two jobs.
var pair = store.Claim{Worker: "Ann", Number: 1, Most: 2, Lease: 30 * time.Second}

func TestClaimRepeated(t *testing.T) {
	t.Parallel()
	t.Run("repeated, it gives the same jobs and takes no more", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b", "c")
		first := f.claim(pair)
		before := f.dump()
		f.pass(20 * time.Second)
		second := f.claim(pair)
		f.is(true, second.Again)
		f.is(first.Jobs, second.Jobs) // also their deadlines
		f.same(before)
	})
	t.Run("repeated, it leaves out what has ended", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b")
		f.is("done", f.settle(f.claim(pair).Jobs[0], store.Ack))
		f.is("b", idsOf(f.claim(pair).Jobs))
	})
	t.Run("whose reply is lost is asked for again by itself", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b", "c")
		l := &lossy{}
		f.rdb.AddHook(l)
		f.claim(store.Claim{Worker: "Bob", Number: 1, Lease: time.Second}) // loads the script
		l.next = 2
		got := f.claim(pair)
		f.is("a b", idsOf(got.Jobs))
		f.is(true, got.Again)
		f.is(int64(2), f.stats().Deliveries)
	})
	t.Run("that comes late gives nothing and changes nothing", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b", "c")
		f.claim(store.Claim{Worker: "Ann", Number: 2, Lease: time.Second})
		before := f.dump()
		got := f.claim(pair)
		f.is(true, got.Late)
		f.is("", idsOf(got.Jobs))
		f.same(before)
	})
}

func TestClaim(t *testing.T) {
	t.Parallel()
	t.Run("takes no job before its time", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		soon, then := plain("soon"), plain("then")
		soon.Job.Delay, then.Job.At = time.Minute, time.UnixMilli(f.now+60_000)
		f.add(false, soon, then)
		f.pass(time.Minute - time.Millisecond)
		f.is("", idsOf(f.take(10)))
		f.pass(time.Millisecond)
		f.is("soon then", idsOf(f.take(10)))
	})
	t.Run("says when something comes next", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		later := plain("later")
		later.Job.Delay = time.Hour
		f.add(false, later, plain("now"))
		got := f.claim(pair)
		f.is(f.now+30_000, got.Next.UnixMilli())
		f.is(f.now+30_000, got.Jobs[0].Deadline.UnixMilli())
	})
	t.Run("while paused gives nothing, and upkeep goes on", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		f.takeOne("a")
		f.must(f.Pause(t.Context(), "ann"))
		f.pass(time.Minute)
		got := f.claim(store.Claim{Worker: "Ann", Number: 9, Most: 1, Lease: time.Second})
		f.is(true, got.Paused)
		f.is("", idsOf(got.Jobs))
		f.is(store.Ready, f.info("a").State)
		f.must(f.Resume(t.Context()))
		f.is(int64(1), f.rdb.LLen(t.Context(), f.Tag()+"bell").Val())
	})
}

func TestClaimChoice(t *testing.T) {
	t.Parallel()
	t.Run("goes by priority, then by order of arrival, and takes the newest first where asked", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		low, high, last := plain("low"), plain("high"), plain("last")
		low.Priority, high.Priority, last.LIFO = -1, 1, true
		f.add(false, low, plain("a"), plain("b"), high, last)
		f.is("high last a b low", idsOf(f.take(10)))
	})
	t.Run("passes ghosts that stand in front", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b", "c", "d")
		f.changed(f.Cancel(t.Context(), "", "a", "b"))
		f.changed(f.Delete(t.Context(), store.DeleteOptions{}, "c"))
		f.takeOne("d")
		f.sound()
	})
	t.Run("keeps to a number of bytes, but one record always comes", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b", "c")
		f.is("a", idsOf(f.claim(store.Claim{Worker: "Ann", Number: 1, Most: 3, Bytes: 1, Lease: time.Second}).Jobs))
	})
	t.Run("parks kinds it does not know, for those who do", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b")
		none := store.Claim{Worker: "Ann", Number: 1, Most: 5, Lease: time.Second, Kinds: []string{"other"}}
		f.is("", idsOf(f.claim(none).Jobs))
		f.is(store.Parked, f.info("a").State)
		f.is(int64(1), f.rdb.LLen(t.Context(), f.Tag()+"bell").Val())
		knows := store.Claim{Worker: "Bob", Number: 1, Most: 5, Lease: time.Second, Kinds: []string{"other", "k"}}
		f.is("a b", idsOf(f.claim(knows).Jobs))
	})
}

func TestClaimForgetsWorkers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.claim(store.Claim{Worker: "Old", Number: 70, Lease: time.Second})
	f.pass(time.Hour)
	for range 70 {
		f.take(0)
	}
	f.is(2, len(f.dump()["claims"].Hash)) // not before the hour is over
	f.pass(time.Minute)
	for range 70 {
		f.take(0)
	}
	f.is(1, len(f.dump()["claims"].Hash))
}

func TestTakeBack(t *testing.T) {
	t.Parallel()
	t.Run("counts a crash and not a failure, and puts the job in front", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b")
		f.takeOne("a")
		f.pass(30 * time.Second)
		d := f.takeOne("a")
		f.is([]int{2, 0, 1}, []int{d.Attempt, d.Failures, d.Crashes})
		f.is(int64(1), f.stats().Crashes)
		f.is(int64(0), f.stats().Failures)
	})
	t.Run("does not come before the lease is over", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		f.takeOne("a")
		f.pass(30*time.Second - time.Millisecond)
		f.is("", idsOf(f.take(1)))
	})
	t.Run("kills at the sixth crash and says so", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		for range 6 {
			f.is("a", idsOf(f.take(1)))
			f.pass(3 * time.Hour)
			f.take(0)
			f.pass(3 * time.Hour) // a suspect comes back within the hour
		}
		info := f.info("a")
		f.is(store.DeadState, info.State)
		f.is([]int{6, 0, 6}, []int{info.Attempt, info.Failures, info.Crashes})
		last := info.Errors[len(info.Errors)-1]
		f.is([]any{"crash", "worker lost", "Ann", 6}, []any{last.Type, last.Message, last.Worker, last.Attempt})
		f.sound()
	})
}

// suspect makes jobs suspects: they crashed twice and are back.
func (f *fixture) suspect(ids ...string) {
	f.t.Helper()
	f.have(ids...)
	for range 2 {
		f.is(len(ids), len(f.take(len(ids))))
		f.pass(30 * time.Second)
	}
	f.take(0)
	f.pass(time.Hour)
}

func TestSuspects(t *testing.T) {
	t.Parallel()
	t.Run("a process runs one at a time", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.suspect("a", "b", "c")
		f.is(1, len(f.take(10)))
		got := f.claim(store.Claim{Worker: "Bob", Number: 1, Most: 10, Lease: time.Minute})
		f.is("", idsOf(got.Jobs))
		f.is(int64(2), f.stats().Ready)
	})
	t.Run("released, snoozed or promoted, a suspect stays one", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.suspect("a")
		f.is("done", f.settle(f.takeOne("a"), store.Release))
		careful := store.Claim{Worker: "Bob", Number: 1, Most: 10, Lease: time.Minute}
		f.is("", idsOf(f.claim(careful).Jobs))
		it := f.ending(f.takeOne("a"), store.Snooze)
		it.Delay = time.Hour
		f.is("done", f.end(it))
		f.is("promoted", f.changed(f.Promote(t.Context(), "a")))
		careful.Number++
		f.is("", idsOf(f.claim(careful).Jobs))
		f.takeOne("a")
	})
	t.Run("requeued, a job is none", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.suspect("a")
		f.is("done", f.settle(f.takeOne("a"), store.Dead))
		f.is("requeued", f.changed(f.Requeue(t.Context(), "a")))
		got := f.claim(store.Claim{Worker: "Bob", Number: 1, Most: 10, Lease: time.Minute})
		f.is(0, got.Jobs[0].Crashes)
	})
}

func TestTakeBackBounds(t *testing.T) {
	t.Parallel()
	t.Run("works for a claim without a lease", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		for range 2 {
			f.takeOne("a")
			f.pass(30 * time.Second)
		}
		f.claim(store.Claim{Worker: "Bob", Number: 1})
		f.is(store.RetryState, f.info("a").State)
		f.sound()
	})
	t.Run("cuts a deadline beyond the longest lease: the clock went back", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		d := f.takeOne("a")
		f.pass(-24 * time.Hour)
		f.take(0)
		f.is(f.now+hour, f.dump()["leases"].Scores[d.Member()])
	})
	t.Run("takes a hundred a claim", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.add(false, many("j", 250)...)
		f.is(250, len(f.take(1000)))
		f.pass(time.Minute)
		for _, active := range []int64{150, 50, 0} {
			f.take(0)
			f.is(active, f.stats().Active)
		}
		f.sound()
	})
	t.Run("honours a cancel", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		d := f.takeOne("a")
		f.is("requested", f.changed(f.Cancel(t.Context(), "why", "a")))
		f.pass(time.Minute)
		f.take(1)
		info := f.info("a")
		f.is([]any{store.CancelledState, "why", "Ann"}, []any{info.State, info.Reason, info.Worker()})
		f.is("stale", f.settle(d, store.Ack))
	})
}

func TestClaimLosesRepliesTooOften(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.have("a")
	l := &lossy{}
	f.rdb.AddHook(l)
	f.take(0)
	l.next = 100
	c := store.Claim{Worker: "Ann", Number: 7, Most: 1, Lease: time.Minute}
	_, err := f.Claim(t.Context(), c)
	if !errors.Is(err, store.ErrUnknown) || !strings.Contains(fmt.Sprint(err), "claim") {
		t.Errorf("error is %v, want ErrUnknown of a claim", err)
	}
	l.next = 0
	f.is("a", idsOf(f.claim(c).Jobs))
}

func TestBell(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rang := func(d time.Duration) bool {
		t.Helper()
		name, err := f.store.Listen(t.Context(), []string{f.Name()}, d)
		f.must(err)
		return name != ""
	}
	f.have("a")
	f.must(f.Ring(t.Context()))
	f.is([]bool{true, false, false}, []bool{rang(time.Second), rang(0), rang(time.Millisecond)}) // one token at most
	later := plain("later")
	later.Job.Delay = time.Hour
	f.add(false, later)
	f.is(true, rang(0)) // a new head of those that wait for a time
	later.ID = "after that"
	later.Job.Delay = 2 * time.Hour
	f.add(false, later)
	f.is(false, rang(0))
	f.claim(store.Claim{Worker: "Ann", Number: 1, Lease: time.Second})
	f.is(true, rang(0)) // it left what it could have taken
}
