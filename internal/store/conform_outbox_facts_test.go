package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// entered is an outbox that the queue knows, and its number.
func (f *fixture) entered(name string) (*store.Outbox, byte) {
	f.t.Helper()
	o := f.Outbox(name)
	s, err := o.Enter(f.t.Context())
	f.must(err)
	return o, s.Number
}

// sends gives the outcomes of a send, and how the outbox stands then.
func (f *fixture) sends(o *store.Outbox, n byte, spill bool, adds ...store.Add) (string, store.Standing) {
	f.t.Helper()
	got, s, err := o.Send(f.t.Context(), n, adds, spill)
	f.must(err)
	var words []string
	for _, e := range got {
		f.must(e.Err)
		words = append(words, string(e.Outcome))
	}
	return strings.Join(words, " "), s
}

// reads takes a whole pass, and gives the words as "id word", in order of IDs.
func (f *fixture) reads(o *store.Outbox, n byte, done ...store.Word) (all []store.Word, text string) {
	f.t.Helper()
	for cursor := ""; cursor != "0"; {
		if cursor == "" {
			cursor = "0"
		}
		words, next, _, err := o.Read(f.t.Context(), n, cursor, done)
		f.must(err)
		all, cursor, done = append(all, words...), next, nil
	}
	slices.SortFunc(all, func(a, b store.Word) int { return strings.Compare(a.ID, b.ID) })
	var words []string
	for _, w := range all {
		words = append(words, w.ID+" "+w.Word)
	}
	return all, strings.Join(words, ", ")
}

// acks takes what is there and acks it.
func (f *fixture) acks() {
	f.t.Helper()
	for _, d := range f.take(1000) {
		f.is("done", f.settle(d, store.Ack))
	}
}

func TestOutboxSend(t *testing.T) {
	t.Parallel()
	t.Run("sent counts what was taken, once, also when the call is repeated", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		for _, before := range []int64{0, 2} { // a repeat adds nothing
			_, s := f.sends(o, n, false, plain("a"), plain("b"))
			f.is(store.Standing{Number: n, Sent: 2, Before: before, Now: time.UnixMilli(f.now)}, s)
		}
		words, s := f.sends(o, n, false, plain("c"), plain("a"))
		f.is("accepted duplicate", words)
		f.is(int64(3), s.Sent)
		f.have("d") // what others enqueue does not move it
		look, err := o.Look(t.Context())
		f.must(err)
		f.is(int64(3), look.Sent)
	})
	t.Run("spilled counts, full does not", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		one := int64(1)
		f.must(f.Configure(t.Context(), store.Settings{Capacity: &one}))
		words, s := f.sends(o, n, true, plain("a"), plain("b"))
		f.is("accepted spilled 2", fmt.Sprintf("%s %d", words, s.Sent))
		words, s = f.sends(o, n, false, plain("c"))
		f.is("full 2", fmt.Sprintf("%s %d", words, s.Sent))
	})
	t.Run("a stranger's call writes nothing", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		f.sends(o, n, false, plain("a"))
		f.acks()
		before := f.dump()
		for _, odd := range []struct {
			o *store.Outbox
			n byte
		}{{f.Outbox("blue"), n}, {o, 'z'}, {o, 0}, {o, '*'}, {f.Outbox(""), n}, {f.Outbox("re"), n}} {
			got, _, err := odd.o.Send(t.Context(), odd.n, []store.Add{plain("b"), plain("a")}, false)
			if !errors.Is(err, store.ErrStranger) || !errors.Is(got[0].Err, store.ErrStranger) || !errors.Is(got[1].Err, store.ErrStranger) {
				t.Errorf("send by %q: %v, %v", odd.n, got, err)
			}
			words, _ := f.reads(o, n)
			if _, _, _, err := odd.o.Read(t.Context(), odd.n, "0", words); !errors.Is(err, store.ErrStranger) {
				t.Errorf("read by %q: %v", odd.n, err)
			}
		}
		f.same(before)
	})
	t.Run("more than a thousand jobs go in several calls, and the last one tells how it stands", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		f.sends(o, n, false, many("i", 10)...)
		_, s := f.sends(o, n, false, append(many("j", 2490), many("i", 10)...)...)
		f.is([]int64{10, 2500}, []int64{s.Before, s.Sent})
		f.is(int64(2500), f.stats().Ready)
	})
	t.Run("a job of which word waits is a duplicate, also one that is brought back dead", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		f.sends(o, n, false, plain("a"))
		f.acks()
		f.is("forgotten", f.changed(f.Delete(t.Context(), store.DeleteOptions{Forget: true}, "a")))
		back := plain("a")
		back.Back = &store.Back{State: store.DeadState, At: time.UnixMilli(f.now), EnqueuedAt: time.UnixMilli(f.now)}
		words, s := f.sends(o, n, false, back)
		f.is("duplicate 1", fmt.Sprintf("%s %d", words, s.Sent))
		back.ID = "b"
		words, s = f.sends(o, n, false, back)
		f.is("accepted 2", fmt.Sprintf("%s %d", words, s.Sent))
		f.is(store.DeadState, f.info("b").State)
		f.is("requeued", f.changed(f.Requeue(t.Context(), "b")))
		_, words = f.reads(o, n)
		f.is("a ack, b live", words)
	})
}

func TestOutboxRead(t *testing.T) {
	t.Parallel()
	t.Run("a word says what became of the job, and when", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		f.sends(o, n, false, plain("a"), plain("b"), plain("c"), plain("d"))
		f.pass(time.Second)
		f.settle(f.takeOne("a"), store.Ack)
		f.settle(f.takeOne("b"), store.Dead)
		f.changed(f.Cancel(t.Context(), "no", "c"))
		f.changed(f.Delete(t.Context(), store.DeleteOptions{}, "d"))
		words, text := f.reads(o, n)
		f.is("a ack, b dead, c cancelled, d deleted", text)
		f.is(time.UnixMilli(f.now), words[3].At)
		f.is(int64(4), words[3].Number)
		f.changed(f.Requeue(t.Context(), "b"))
		_, text = f.reads(o, n)
		f.is("a ack, b live, c cancelled, d deleted", text) // requeue leaves live
		s, err := o.Look(t.Context())
		f.must(err)
		f.is(store.Standing{Number: n, Sent: 4, Before: 4, Told: 5, Unread: 4, Now: time.UnixMilli(f.now)}, s)
	})
	t.Run("a word overwritten since it was read stays, a repeated read gives the same", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		f.sends(o, n, false, plain("a"), plain("b"))
		f.settle(f.takeOne("a"), store.Dead)
		f.settle(f.takeOne("b"), store.Ack)
		old, _ := f.reads(o, n)
		again, _ := f.reads(o, n)
		f.is(fmt.Sprint(old), fmt.Sprint(again))
		f.changed(f.Requeue(t.Context(), "a"))
		for range 2 { // a repeat takes away no more
			_, text := f.reads(o, n, old...)
			f.is("a live", text)
		}
		f.settle(f.takeOne("a"), store.Dead) // the same word, but another one
		_, text := f.reads(o, n, old...)
		f.is("a dead", text)
	})
	t.Run("many words come in several calls, each at least once, while they are taken away", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		f.sends(o, n, false, many("j", 4500)...)
		for range 5 {
			f.acks()
		}
		seen, done, calls := map[string]bool{}, []store.Word(nil), 0
		for cursor := ""; cursor != "0"; calls++ {
			words, next, _, err := o.Read(t.Context(), n, max(cursor, "0"), done)
			f.must(err)
			if len(words) > 2000 {
				t.Errorf("%d words in one reply", len(words))
			}
			for _, w := range words {
				seen[w.ID] = true
			}
			done, cursor = words, next
		}
		if len(seen) != 4500 || calls < 3 {
			t.Errorf("%d words in %d calls", len(seen), calls)
		}
		rest, _ := f.reads(o, n, done...)
		f.is(0, len(rest))
	})
	t.Run("words of many calls are taken away at once", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		f.sends(o, n, false, many("j", 2500)...)
		for range 3 {
			f.acks()
		}
		all, _ := f.reads(o, n)
		rest, _ := f.reads(o, n, all...)
		f.is(0, len(rest))
	})
	t.Run("a word without a time, and one that is not known, are read as they are", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		f.must(f.rdb.HSet(t.Context(), f.Tag()+"told:"+string(n), "a", "ack 7", "b", "odd", "c", "").Err())
		words, text := f.reads(o, n)
		f.is("a ack, b odd, c ", text)
		f.is(time.Time{}, words[0].At)
		rest, _ := f.reads(o, n, words...)
		f.is(0, len(rest))
	})
}

func TestOutboxEnter(t *testing.T) {
	t.Parallel()
	t.Run("an outbox keeps its number, another gets another", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		for range 2 {
			_, n := f.entered("red")
			_, m := f.entered("blue")
			f.is("01", string([]byte{n, m}))
		}
	})
	t.Run("the 63rd is refused, until one is forgotten", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		numbers := map[byte]bool{}
		for i := range 62 {
			_, n := f.entered(fmt.Sprint("box", i))
			numbers[n] = true
		}
		f.is(62, len(numbers))
		last := f.Outbox("last")
		before := f.dump()
		if _, err := last.Enter(t.Context()); !errors.Is(err, store.ErrCrowded) {
			t.Errorf("%v, want ErrCrowded", err)
		}
		f.same(before)
		f.must(f.Outbox("box40").Forget(t.Context()))
		f.must(f.Outbox("box40").Forget(t.Context()))
		_, n := f.entered("last")
		f.is(byte('e'), n)
	})
	t.Run("a number under which words wait is given last", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		a := plain("a")
		a.Job.Outbox = '0'
		f.add(false, a)
		f.acks()
		_, n := f.entered("red")
		f.is(byte('1'), n)
		for i := range 61 {
			_, n = f.entered(fmt.Sprint("box", i))
		}
		f.is(byte('0'), n)
	})
	t.Run("forgotten, its words are gone and its calls are a stranger's", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		o, n := f.entered("red")
		f.sends(o, n, false, plain("a"), plain("b"))
		f.settle(f.takeOne("a"), store.Ack)
		f.must(o.Forget(t.Context()))
		s, err := o.Look(t.Context())
		f.must(err)
		f.is(store.Standing{Told: 1, Now: time.UnixMilli(f.now)}, s)
		_, _, err = o.Send(t.Context(), n, []store.Add{plain("c")}, false)
		f.is(true, errors.Is(err, store.ErrStranger))
		f.settle(f.takeOne("b"), store.Ack)
		boxes, err := f.Outboxes(t.Context())
		f.must(err)
		f.is([]store.BoxInfo{{Number: n, Unread: 1}}, boxes)
	})
	t.Run("all are listed by number", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		red, n := f.entered("red")
		f.entered("blue")
		f.sends(red, n, false, plain("a"))
		f.acks()
		boxes, err := f.Outboxes(t.Context())
		f.must(err)
		f.is([]store.BoxInfo{{Number: '0', Name: "red", Sent: 1, Unread: 1}, {Number: '1', Name: "blue"}}, boxes)
	})
	t.Run("a name that is no name is refused before anything is sent", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		for _, name := range []string{"", "a b", strings.Repeat("x", 129)} {
			_, err := f.Outbox(name).Enter(t.Context())
			_, look := f.Outbox(name).Look(t.Context())
			if !errors.Is(err, record.ErrInvalid) || !errors.Is(look, record.ErrInvalid) {
				t.Errorf("%q: %v, %v", name, err, look)
			}
		}
		f.same(dump{})
	})
}

func TestStates(t *testing.T) {
	t.Parallel()
	t.Run("every state is told in one call", func(t *testing.T) {
		t.Parallel()
		f := everyState(t)
		var ids []string
		for key := range f.dump() {
			if id, ok := strings.CutPrefix(key, "job:"); ok {
				ids = append(ids, id)
			}
		}
		got, err := f.States(t.Context(), ids)
		f.must(err)
		seen := map[store.State]bool{}
		for i, id := range ids {
			f.is(id+" "+string(f.info(id).State), id+" "+string(got[i]))
			seen[got[i]] = true
		}
		if len(seen) < 8 {
			t.Errorf("states seen: %v", seen)
		}
	})
	t.Run("of what is gone it tells what the window knows, and of a newer record that it is newer", func(t *testing.T) {
		t.Parallel()
		f := newer(t)
		f.changed(f.Delete(t.Context(), store.DeleteOptions{}, "a"))
		f.settle(f.take(1)[0], store.Ack)
		got, err := f.States(t.Context(), []string{"a", "b", "new", "nobody"})
		f.must(err)
		f.is([]store.State{store.DeletedState, store.CompletedState, store.NewerState, store.StateNone}, got)
	})
	t.Run("thousands are asked for in several calls", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.add(false, many("j", 2100)...)
		ids := []string{"nobody"}
		for i := range 2100 {
			ids = append(ids, fmt.Sprint("j", i))
		}
		got, err := f.States(t.Context(), ids)
		f.must(err)
		f.is(2101, len(got))
		f.is(store.StateNone, got[0])
		f.is(false, slices.ContainsFunc(got[1:], func(s store.State) bool { return s != store.Ready }))
		got, err = f.States(t.Context(), nil)
		f.must(err)
		f.is(0, len(got))
	})
}
