package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// Calls as large as they may be, and larger, which are split.
func TestLargeCalls(t *testing.T) {
	t.Parallel()
	t.Run("work", func(t *testing.T) {
		t.Parallel()
		largeCalls(newFixture(t), 1100)
	})
	t.Run("work on the in-memory server, to the size that it settles within a client's patience", func(t *testing.T) {
		t.Parallel()
		largeCalls(newFixtureOn(t, inMemory(t), "large"), 150)
	})
}

func largeCalls(f *fixture, n int) {
	f.t.Helper()
	adds := many("j", n)
	for i := range adds {
		adds[i].Job.Outbox = 'x'
	}
	var words []store.Outcome
	for _, e := range f.Enqueue(f.t.Context(), adds, false) {
		f.must(e.Err)
		words = append(words, e.Outcome)
	}
	f.is(fmt.Sprint("accepted ", n), tally(words))
	for _, end := range []store.End{store.Retry, store.Complete, store.Dead, store.Ack} {
		f.largeRound(end)
	}
	f.is(int64(0), f.stats().Live())
	f.sound()
}

// largeRound claims all, renews, settles and, where jobs wait or are dead, makes them ready again.
func (f *fixture) largeRound(end store.End) {
	f.t.Helper()
	ctx := f.t.Context()
	jobs := append(f.take(1000), f.take(1000)...)
	var members, ids []string
	var items []store.Settlement
	for _, d := range jobs {
		it := f.ending(d, end)
		it.Delay, it.Retention, it.Result = time.Minute, time.Hour, []byte("r")
		it.Line = store.Error{Attempt: 1, Type: "failure", Message: "no"}.Line()
		members, items, ids = append(members, d.Member()), append(items, it), append(ids, d.ID)
	}
	verdicts, err := f.Renew(ctx, time.Hour, members)
	f.must(err)
	f.is(fmt.Sprint("held ", len(jobs)), tally(verdicts))
	verdicts, err = f.Settle(ctx, items)
	f.must(err)
	f.is(fmt.Sprint("done ", len(jobs)), tally(verdicts))
	switch end {
	case store.Retry:
		f.is(fmt.Sprint("promoted ", len(jobs)), tally(f.words(f.Promote(ctx, ids...))))
	case store.Dead:
		f.is(fmt.Sprint("requeued ", len(jobs)), tally(f.words(f.Requeue(ctx, ids...))))
	case store.Complete:
		f.is(fmt.Sprint("deleted ", len(jobs)), tally(f.words(f.Delete(ctx, store.DeleteOptions{Forget: true}, ids...))))
		f.must(f.rdb.Unlink(ctx, f.Tag()+"told:x").Err())
		for _, e := range f.Enqueue(ctx, many("j", len(jobs)), false) {
			f.must(e.Err)
		}
	}
}

func (f *fixture) words(c []store.Change, err error) []store.Change {
	f.t.Helper()
	f.must(err)
	return c
}

// tally counts words, which should all be one.
func tally[T ~string](words []T) string {
	n := map[T]int{}
	for _, w := range words {
		n[w]++
	}
	if len(n) == 1 {
		return fmt.Sprintf("%s %d", words[0], len(words))
	}
	return fmt.Sprint(n)
}
