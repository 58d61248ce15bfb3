package store_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/store"
)

func (f *fixture) endsOf(ids ...string) []store.JobEnd {
	f.t.Helper()
	got, err := f.Ends(f.t.Context(), ids)
	f.must(err)
	return got
}

// endedAs are the states in which jobs ended.
func (f *fixture) endedAs(ids ...string) string {
	f.t.Helper()
	var words []string
	for _, e := range f.endsOf(ids...) {
		words = append(words, strings.TrimSpace("_"+string(e.State)))
	}
	return strings.Join(words, " ")
}

func TestEnds(t *testing.T) {
	t.Parallel()
	t.Run("tells each end apart", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("kept", "large", "acked", "dead", "cancelled")
		jobs := f.take(5)
		items := make([]store.Settlement, 5)
		for i, end := range []store.End{store.Complete, store.Complete, store.Ack, store.Dead, store.Cancel} {
			items[i] = f.ending(jobs[i], end)
			items[i].Retention = time.Hour
		}
		items[0].Result, items[1].Dropped, items[4].Line = []byte("result"), true, "no need"
		items[3].Line = store.Error{Message: "boom"}.Line()
		f.is("done done done done done", f.end(items...))
		f.have("deleted", "waits")
		f.changed(f.Delete(t.Context(), store.DeleteOptions{}, "deleted"))
		want := []store.JobEnd{
			{State: store.CompletedState, Result: []byte("result")},
			{State: store.CompletedState, ResultDropped: true},
			{State: store.CompletedState},
			{State: store.DeadState, LastError: "boom"},
			{State: store.CancelledState, Reason: "no need"},
			{State: store.DeletedState},
			{State: store.StateNone},
			{State: store.GoneState},
		}
		f.is(want, f.endsOf("kept", "large", "acked", "dead", "cancelled", "deleted", "waits", "nobody"))
	})
	t.Run("of a dead job tells the last of its errors", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		for i, end := range []store.End{store.Retry, store.Retry, store.Dead} {
			it := f.ending(f.takeOne("a"), end)
			it.Line = store.Error{Message: fmt.Sprint("error ", i)}.Line()
			f.is("done", f.end(it))
		}
		f.is("error 2", f.endsOf("a")[0].LastError)
	})
	t.Run("every live state is none, and so is a requeued job", func(t *testing.T) {
		t.Parallel()
		f := everyState(t)
		f.is("_ _ _ _ _ _ _ _dead _completed", f.endedAs("urgent", "ready", "due", "retry", "parked", "active", "spilled", "dead", "kept"))
		unlimited := int64(store.Unlimited)
		f.must(f.Configure(t.Context(), store.Settings{Capacity: &unlimited}))
		f.is("requeued", f.changed(f.Requeue(t.Context(), "dead")))
		f.is("_", f.endedAs("dead"))
	})
}

func TestEndsOfIDsUsedTwice(t *testing.T) {
	t.Parallel()
	t.Run("a job enqueued anew after it was forgotten lives", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		f.is("done", f.settle(f.takeOne("a"), store.Dead))
		f.is("deleted", f.changed(f.Delete(t.Context(), store.DeleteOptions{Forget: true}, "a")))
		f.is("_gone", f.endedAs("a"))
		f.have("a")
		f.is("_", f.endedAs("a"))
	})
	t.Run("a record beats an entry of the window", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b")
		f.is("done", f.settle(f.takeOne("a"), store.Ack))
		drawn := plain("a") // the ID that somebody gave is now drawn at random: that window does not know it
		drawn.Job.Named = false
		f.is("accepted", f.add(false, drawn))
		f.is("_ _", f.endedAs("a", "b"))
		f.takeOne("b")
		f.is("done", f.settle(f.takeOne("a"), store.Cancel))
		f.is("_cancelled", f.endedAs("a"))
		f.changed(f.Delete(t.Context(), store.DeleteOptions{}, "a"))
		f.is("_cancelled", f.endedAs("a"))
	})
	t.Run("a job enqueued anew beyond the window lives, while the old one is not swept yet", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		it := f.ending(f.takeOne("a"), store.Complete)
		it.Retention = 3 * time.Hour
		f.is("done", f.end(it))
		for range 2 {
			f.pass(80 * time.Minute)
			f.take(0)
		}
		f.pass(time.Hour)
		f.must(f.rdb.Unlink(t.Context(), f.Tag()+"job:a").Err()) // its TTL
		f.is("_completed", f.endedAs("a"))
		f.have("a")
		f.is("_", f.endedAs("a"))
	})
}

// weigher is a hook that counts calls and weighs their replies.
type weigher struct{ calls, most int }

func (*weigher) DialHook(next redis.DialHook) redis.DialHook { return next }
func (*weigher) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (w *weigher) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if c, ok := cmd.(interface{ Slice() ([]any, error) }); ok && cmd.Name() == "evalsha" {
			reply, _ := c.Slice()
			weight := 0
			for _, v := range reply {
				s, _ := v.(string)
				weight += len(s)
			}
			w.calls, w.most = w.calls+min(1, len(reply)), max(w.most, weight)
		}
		return err
	}
}

func TestEndsOfMany(t *testing.T) {
	t.Parallel()
	t.Run("answers any number of IDs in their order", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.add(false, many("j", 250)...)
		for i, d := range f.take(250) {
			if i%3 == 0 {
				f.settle(d, store.Ack)
			}
		}
		ids := []string{"nobody"}
		for i := range 250 {
			ids = append(ids, fmt.Sprintf("j%d", i))
		}
		for i, e := range f.endsOf(ids...) {
			want := store.StateNone
			switch {
			case i == 0:
				want = store.GoneState
			case (i-1)%3 == 0:
				want = store.CompletedState
			}
			f.is(want, e.State)
		}
	})
	t.Run("brings all results, in replies of 4 MiB and one result at most", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.add(false, many("j", 40)...)
		ids := make([]string, 0, 40)
		for i, d := range f.take(40) {
			it := f.ending(d, store.Complete)
			it.Retention, it.Result = time.Hour, bytes.Repeat([]byte{byte(i)}, 300<<10)
			f.is("done", f.end(it))
			ids = append(ids, d.ID)
		}
		w := &weigher{}
		f.rdb.AddHook(w)
		for i, e := range f.endsOf(ids...) {
			if len(e.Result) != 300<<10 || e.Result[0] != byte(i) {
				t.Errorf("%s: %d bytes", ids[i], len(e.Result))
			}
		}
		if w.calls != 3 || w.most > 4<<20+300<<10 {
			t.Errorf("%d calls, the largest reply has %d bytes", w.calls, w.most)
		}
	})
	t.Run("no IDs, no call", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.is(0, len(f.endsOf()))
	})
}
