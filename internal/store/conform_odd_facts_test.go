package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// overwrite changes bytes of a record, as a newer version or a damage would.
func (f *fixture) overwrite(id string, at int64, bytes string) {
	f.t.Helper()
	f.must(f.rdb.SetRange(f.t.Context(), f.Tag()+"job:"+id, at, bytes).Err())
}

// newer is a queue with a job whose record has a newer format, and two others.
func newer(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.have("new", "a", "b")
	f.overwrite("new", 0, "2")
	return f
}

// A record of a newer format begins with another byte. Nobody but its own version touches it.
func TestNewerRecord(t *testing.T) {
	t.Parallel()
	t.Run("is parked and told by the claim, and does not stop others", func(t *testing.T) {
		t.Parallel()
		f := newer(t)
		got := f.claim(store.Claim{Worker: "Ann", Number: 1, Most: 10, Lease: time.Minute})
		f.is("a b", idsOf(got.Jobs))
		f.is(int64(1), got.Newer)
		f.is(int64(1), f.stats().Parked)
		f.is("", idsOf(f.claim(store.Claim{Worker: "Ann", Number: 2, Most: 10, Lease: time.Minute}).Jobs))
	})
	t.Run("is told by every verb and left alone", func(t *testing.T) {
		t.Parallel()
		f := newer(t)
		ctx := t.Context()
		f.claim(store.Claim{Worker: "Ann", Number: 1, Most: 1, Lease: time.Minute})
		before := f.dump()
		for _, e := range f.Enqueue(ctx, []store.Add{plain("new")}, false) {
			if !errors.Is(e.Err, store.ErrNewer) {
				t.Errorf("enqueue: %v, want ErrNewer", e)
			}
		}
		if _, err := f.Get(ctx, "new"); !errors.Is(err, store.ErrNewer) {
			t.Errorf("get: %v, want ErrNewer", err)
		}
		f.is("newer", f.changed(f.Cancel(ctx, "no", "new")))
		f.is("newer", f.changed(f.Delete(ctx, store.DeleteOptions{Force: true}, "new")))
		f.is("newer", f.changed(f.Requeue(ctx, "new")))
		f.is("newer", f.changed(f.Promote(ctx, "new")))
		got, err := f.Purge(ctx, store.Parked, 500)
		f.must(err)
		f.is(store.Purged{Deleted: 0, Left: 1}, got)
		f.same(before)
		page, err := f.List(ctx, store.Parked, "", 10, false)
		f.must(err)
		if len(page.Entries) != 1 || !errors.Is(page.Entries[0].Err, store.ErrNewer) {
			t.Errorf("list: %v, want ErrNewer", page.Entries)
		}
	})
	t.Run("in line survives a purge of ready jobs", func(t *testing.T) {
		t.Parallel()
		f := newer(t)
		got, err := f.Purge(t.Context(), store.Ready, 500)
		f.must(err)
		f.is(store.Purged{Deleted: 2, Left: 0}, got)
		f.is([]int64{1, 1}, []int64{f.stats().Parked, f.stats().Live()})
		f.is(int64(1), f.rdb.Exists(t.Context(), f.Tag()+"job:new").Val())
	})
}

func TestNewerRecordUpkeep(t *testing.T) {
	t.Parallel()
	t.Run("keeps its lease, and others are taken back", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("new", "a")
		f.take(2)
		f.overwrite("new", 0, "2")
		f.pass(time.Minute)
		got := f.claim(store.Claim{Worker: "Bob", Number: 1, Most: 2, Lease: time.Hour})
		f.is("a", idsOf(got.Jobs))
		f.is(int64(2), f.stats().Active)
		if !got.Next.After(got.Now) {
			t.Errorf("next event %v is not after %v", got.Next, got.Now)
		}
	})
	t.Run("is told by the audit and not mended", func(t *testing.T) {
		t.Parallel()
		f := newer(t)
		f.claim(store.Claim{Worker: "Ann", Number: 1, Most: 1, Lease: time.Minute})
		before := f.dump()
		f.is([]store.Finding{{What: "newer", Item: "3e8F00000000001:new"}}, f.audited(true))
		f.same(before)
	})
}

func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(*fixture){
		"in its head":          func(f *fixture) { f.overwrite("bad", 1, "!!!!!!") },
		"in its line":          func(f *fixture) { f.overwrite("bad", 40, "\x00\xff!\n r") },
		"in its fields":        func(f *fixture) { f.overwrite("bad", 43, "\xff\xff\xff\xff") },
		"cut":                  func(f *fixture) { f.must(f.rdb.Set(f.t.Context(), f.Tag()+"job:bad", "13e8F", 0).Err()) },
		"gone":                 func(f *fixture) { f.must(f.rdb.Unlink(f.t.Context(), f.Tag()+"job:bad").Err()) },
		"of a number too high": func(f *fixture) { f.overwrite("bad", 5, "fffffffffff") },
	}
	for name, damage := range kinds {
		t.Run(name+", it does not break claims or upkeep", func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.have("bad", "a", "b")
			damage(f)
			got := idsOf(f.take(10))
			if got != "a b" && got != "bad a b" {
				t.Errorf("claimed %q", got)
			}
			f.have("c")
			f.is("c", idsOf(f.take(1)))
			f.pass(time.Minute)
			f.take(0)
			if n := f.dump()["meta"].Hash["ghosts"]; strings.HasPrefix(n, "-") {
				t.Errorf("ghosts are %s", n)
			}
			if _, err := f.Get(t.Context(), "bad"); err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, record.ErrDamaged) {
				t.Errorf("get: %v", err)
			}
			f.changed(f.Delete(t.Context(), store.DeleteOptions{Force: true}, "bad"))
			f.audited(true)
			f.take(10)
			f.sound()
		})
	}
}

// audited runs an audit, after a moment.
func (f *fixture) audited(mend bool) []store.Finding {
	f.t.Helper()
	f.pass(time.Millisecond)
	found, err := f.Audit(mend).Run(f.t.Context())
	f.must(err)
	return found
}

// damages are what no script leaves behind, and what the audit must say of them.
var damages = []struct {
	name string
	make func(*fixture, string) error // of the job "a", which waits at this element
	want store.Finding
	then string // the state of "a" after it was mended
}{
	{"a record in no index", func(f *fixture, el string) error {
		return f.rdb.LRem(f.t.Context(), f.Tag()+"ready", 1, el).Err()
	}, store.Finding{What: "unindexed", Item: "a"}, "ready"},
	{"an index entry without its record", func(f *fixture, el string) error {
		f.must(f.rdb.LRem(f.t.Context(), f.Tag()+"ready", 1, el).Err())
		f.must(f.rdb.Unlink(f.t.Context(), f.Tag()+"job:a").Err())
		return f.rdb.ZAdd(f.t.Context(), f.Tag()+"due", redis.Z{Score: 1e15, Member: el}).Err()
	}, store.Finding{What: "orphan element", Item: "ELEMENT"}, "gone"},
	{"a lease without run entry", func(f *fixture, _ string) error {
		f.takeOne("a")
		return f.rdb.HDel(f.t.Context(), f.Tag()+"runs", "a").Err()
	}, store.Finding{What: "unrecorded lease", Item: "1-Ann.1 ELEMENT"}, "active"},
	{"a lease of a job of which nothing is left", func(f *fixture, _ string) error {
		f.takeOne("a")
		f.must(f.rdb.HDel(f.t.Context(), f.Tag()+"runs", "a").Err())
		return f.rdb.Unlink(f.t.Context(), f.Tag()+"job:a").Err()
	}, store.Finding{What: "orphan element", Item: "1-Ann.1 ELEMENT"}, "gone"},
	{"a run entry of a job that is gone", func(f *fixture, _ string) error {
		return f.rdb.HSet(f.t.Context(), f.Tag()+"runs", "lost", "1 0 0 0 1-Ann.1 retry 1700000000000 1700000000000").Err()
	}, store.Finding{What: "orphan run", Item: "lost"}, "ready"},
	{"an error list of a job that is gone", func(f *fixture, _ string) error {
		return f.rdb.HSet(f.t.Context(), f.Tag()+"faults", "lost", "{}").Err()
	}, store.Finding{What: "orphan run", Item: "lost"}, "ready"},
	{"a wrong count of ghosts", func(f *fixture, _ string) error {
		return f.rdb.HSet(f.t.Context(), f.Tag()+"meta", "ghosts", 3).Err()
	}, store.Finding{What: "ghosts 3 0"}, "ready"},
	{"an active run without a lease", func(f *fixture, el string) error {
		d := f.takeOne("a")
		return f.rdb.ZRem(f.t.Context(), f.Tag()+"leases", d.Member()).Err()
	}, store.Finding{What: "unindexed", Item: "a"}, "ready"},
	{"an ended job's record that would stay for ever", func(f *fixture, el string) error {
		f.is("cancelled", f.changed(f.Cancel(f.t.Context(), "", "a")))
		f.must(f.rdb.Persist(f.t.Context(), f.Tag()+"job:a").Err())
		return f.rdb.ZRem(f.t.Context(), f.Tag()+"done", el).Err()
	}, store.Finding{What: "left", Item: "a"}, "cancelled"},
}

func TestAudit(t *testing.T) {
	t.Parallel()
	for _, d := range damages {
		t.Run("finds and mends "+d.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.have("a", "b")
			el := "3e8F00000000001:a"
			f.must(d.make(f, el))
			d.want.Item = strings.Replace(d.want.Item, "ELEMENT", el, 1)
			f.is([]store.Finding{d.want}, f.audited(false))
			d.want.Mended = true
			f.is([]store.Finding{d.want}, f.audited(true))
			f.is([]store.Finding(nil), f.audited(true))
			info, err := f.Get(t.Context(), "a")
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Fatal(err)
			}
			f.is(d.then, string(info.State))
			f.sound()
			f.emptied()
		})
	}
}

func TestAuditFindsNothing(t *testing.T) {
	t.Parallel()
	t.Run("in any state", func(t *testing.T) {
		t.Parallel()
		f := everyState(t)
		f.sound()
	})
	t.Run("where the record of an ended job went by its time", func(t *testing.T) {
		t.Parallel()
		f := everyState(t)
		f.pass(time.Hour)
		f.must(f.rdb.Unlink(t.Context(), f.Tag()+"job:kept", f.Tag()+"result:kept").Err()) // what Redis does now
		f.is([]store.Finding(nil), f.audited(false))
	})
	t.Run("where a job went from place to place behind its back", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		f.pass(time.Millisecond)
		audit := f.Audit(true)
		step := func(n int) {
			for range n {
				found, _, err := audit.Step(t.Context())
				f.must(err)
				f.is([]store.Finding(nil), found)
			}
		}
		step(10) // its beginning, and all indexes but the line
		d := f.takeOne("a")
		step(1) // the line
		f.is("done", f.settle(d, store.Release))
		found, err := audit.Run(t.Context())
		f.must(err)
		f.is([]store.Finding(nil), found)
		f.is(int64(1), f.stats().Ready)
		f.sound()
	})
	t.Run("in a large queue at work, step by step", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.add(false, many("j", 900)...)
		f.pass(time.Millisecond)
		a := f.Audit(true)
		for i := 0; ; i++ {
			found, done, err := a.Step(t.Context())
			f.must(err)
			f.is([]store.Finding(nil), found)
			if done {
				break
			}
			for _, d := range f.take(20) {
				f.settle(d, store.Release)
			}
			f.have(fmt.Sprintf("new%d", i))
		}
		if a.Looked < 900 {
			t.Errorf("looked at %d", a.Looked)
		}
		f.sound()
	})
}
