package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

func TestOutboxLostReply(t *testing.T) {
	t.Parallel()
	t.Run("sent counts once what a call took whose reply was lost", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		f.sends(o, n, false, plain("first"))
		l := &lossy{next: 1}
		f.rdb.AddHook(l)
		generated := plain(record.NewID(time.Now()))
		generated.Job.Named = false
		words, s := f.sends(o, n, false, generated, plain("a"))
		f.is("accepted duplicate", words) // nobody else has a generated ID
		f.is(int64(3), s.Sent)
	})
	t.Run("what comes after a call without an answer is not sent, and all can be sent again", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		l := &lossy{next: 4} // all tries of the first call
		f.rdb.AddHook(l)
		adds := many("j", 1500)
		got, s, err := o.Send(t.Context(), n, adds, false)
		f.must(err)
		f.is(store.Standing{}, s)
		not := func(want error) func(store.Enqueued) bool {
			return func(e store.Enqueued) bool { return !errors.Is(e.Err, want) }
		}
		if slices.ContainsFunc(got[:1000], not(store.ErrUnknown)) || slices.ContainsFunc(got[1000:], not(store.ErrUnavailable)) {
			t.Errorf("%v … %v", got[0], got[1499])
		}
		f.is(int64(1000), f.stats().Ready)
		_, s = f.sends(o, n, false, adds...)
		f.is(int64(1500), s.Sent)
	})
	t.Run("words are taken away once by a call whose reply was lost", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		f.sends(o, n, false, plain("a"), plain("b"))
		f.settle(f.takeOne("a"), store.Ack)
		words, _ := f.reads(o, n)
		f.settle(f.takeOne("b"), store.Ack)
		f.rdb.AddHook(&lossy{next: 1})
		_, text := f.reads(o, n, words...)
		f.is("b ack", text)
	})
}

func TestOutboxRedisLost(t *testing.T) {
	t.Parallel()
	t.Run("an older copy of Redis is seen, however many jobs others enqueued since", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		f.sends(o, n, false, plain("a"))
		copied, err := f.rdb.HGetAll(t.Context(), f.Tag()+"meta").Result()
		f.must(err)
		_, before := f.sends(o, n, false, plain("b"))
		f.must(f.rdb.Unlink(t.Context(), f.Tag()+"job:b").Err())
		f.must(f.rdb.HSet(t.Context(), f.Tag()+"meta", copied).Err())
		f.add(false, many("j", 10)...)
		s, err := o.Look(t.Context())
		f.must(err)
		if s.Sent >= before.Sent || s.Number != n {
			t.Errorf("it stands at %+v, before at %+v", s, before)
		}
	})
	t.Run("an older copy of Redis is seen by the next send, however much that brings", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		_, first := f.sends(o, n, false, many("a", 10)...)
		f.must(f.rdb.HSet(t.Context(), f.Tag()+"meta", "sent:"+string(n), 5).Err())
		_, s := f.sends(o, n, false, many("b", 20)...)
		f.is(int64(25), s.Sent)
		if s.Before >= first.Sent {
			t.Errorf("before it stood at %d, and was answered %d earlier", s.Before, first.Sent)
		}
	})
	t.Run("and so is one that is put back between two calls of a send", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		f.rdb.AddHook(&between{f.rdb, f.Tag() + "meta", "sent:" + string(n)})
		_, s := f.sends(o, n, false, many("b", 1500)...)
		f.is([]int64{-1, 505}, []int64{s.Before, s.Sent})
	})
	t.Run("a Redis that lost all knows no outbox, however many jobs others enqueued since", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		f.sends(o, n, false, plain("a"))
		f.must(f.rdb.Unlink(t.Context(), f.Tag()+"meta", f.Tag()+"ready", f.Tag()+"job:a", f.Tag()+"stats").Err())
		f.add(false, many("j", 10)...)
		s, err := o.Look(t.Context())
		f.must(err)
		f.is(store.Standing{Now: time.UnixMilli(f.now)}, s)
		_, _, err = o.Send(t.Context(), n, []store.Add{plain("b")}, false)
		f.is(true, errors.Is(err, store.ErrStranger))
	})
}

func TestOutboxFullMemory(t *testing.T) {
	t.Parallel()
	for name, noHeaders := range map[string]bool{"": false, ", without script headers": true} {
		t.Run("a send is refused; to enter, look, read and forget is not"+name, func(t *testing.T) {
			t.Parallel()
			rdb := redistest.Start(t).Client()
			f := newFixtureOn(t, rdb, "full")
			s, err := store.NewForTest(rdb, "full", store.TestClock, noHeaders)
			f.must(err)
			f.Queue, err = s.Queue("mail")
			f.must(err)
			o, n := f.entered("red")
			f.sends(o, n, false, plain("a"))
			f.must(rdb.ConfigSet(t.Context(), "maxmemory", "1").Err())
			got, _, err := o.Send(t.Context(), n, []store.Add{plain("b")}, false)
			f.must(err)
			f.is(true, errors.Is(got[0].Err, store.ErrUnavailable))
			f.acks()
			words, text := f.reads(o, n)
			f.is("a ack", text)
			_, text = f.reads(o, n, words...)
			f.is("", text)
			blue, m := f.entered("blue")
			f.is(byte('1'), m)
			f.must(blue.Forget(t.Context()))
			look, err := o.Look(t.Context())
			f.must(err)
			f.is(int64(1), look.Sent)
		})
	}
}

// between is a hook that sets a field to 5 after each call.
type between struct {
	rdb        *redis.Client
	key, field string
}

func (*between) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*between) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b *between) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "evalsha" && err == nil {
			return b.rdb.HSet(ctx, b.key, b.field, 5).Err()
		}
		return err
	}
}
