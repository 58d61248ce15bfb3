package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// ofKind are plain jobs of a kind.
func ofKind(kind string, ids ...string) []store.Add {
	adds := make([]store.Add, len(ids))
	for i, id := range ids {
		adds[i] = plain(id)
		adds[i].Job.Kind = kind
	}
	return adds
}

// takeWith claims as the worker "Ann" with room for kinds.
func (f *fixture) takeWith(most int, room map[string]int, kinds ...string) store.Claimed {
	f.t.Helper()
	f.number++
	return f.claim(store.Claim{
		Worker: "Ann", Number: f.number, Most: most, Lease: 30 * time.Second, Suspect: true, Kinds: kinds, Room: room,
	})
}

func (f *fixture) bells() int64 { return f.rdb.LLen(f.t.Context(), f.Tag()+"bell").Val() }

func TestClaimRoom(t *testing.T) {
	t.Parallel()
	for name, kinds := range map[string][]string{"of these kinds": {"k", "slow"}, "of every kind": nil} {
		t.Run("a kind without room is set aside and comes back first, "+name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.add(false, ofKind("slow", "s1", "s2", "s3")...)
			f.have("a", "b")
			none := map[string]int{"slow": 0}
			f.is("a", idsOf(f.takeWith(1, none, kinds...).Jobs))
			f.is(store.Parked, f.info("s1").State)
			f.is("b", idsOf(f.takeWith(5, none, kinds...).Jobs))
			f.have("c")
			f.is("s1 s2", idsOf(f.takeWith(2, map[string]int{"slow": 2}, kinds...).Jobs))
			f.is("s3 c", idsOf(f.takeWith(2, nil, kinds...).Jobs))
			f.sound()
		})
		t.Run("a claim's room counts what it takes from parked as well, "+name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.add(false, ofKind("slow", "s1", "s2")...)
			f.takeWith(5, map[string]int{"slow": 0}, kinds...)
			f.add(false, ofKind("slow", "s3", "s4", "s5")...)
			f.have("a")
			got := f.takeWith(9, map[string]int{"slow": 3}, kinds...)
			f.is("s1 s2 s3 a", idsOf(got.Jobs))
			f.is(int64(2), got.Parked)
		})
	}
	t.Run("a suspect uses up room too", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.suspect("s")
		f.have("a")
		f.is("s", idsOf(f.takeWith(5, map[string]int{"k": 1}).Jobs))
	})
	t.Run("room for a kind that the worker does not know changes nothing", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a")
		f.is("", idsOf(f.takeWith(5, map[string]int{"k": 3}, "other").Jobs))
	})
	t.Run("repeated, a claim with room brings the same jobs", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.have("a", "b", "c")
		first := f.takeWith(5, map[string]int{"k": 2})
		f.number--
		f.is(first.Jobs, f.takeWith(5, map[string]int{"k": 2}).Jobs)
	})
}

func TestClaimParked(t *testing.T) {
	t.Parallel()
	t.Run("priority is kept among the parked", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		adds := ofKind("slow", "low", "first", "high", "second")
		adds[0].Priority, adds[2].Priority = -1, 1
		f.add(false, adds...)
		f.takeWith(9, map[string]int{"slow": 0})
		f.is(int64(4), f.stats().Parked)
		f.is("high first second low", idsOf(f.takeWith(9, map[string]int{"slow": 9}).Jobs))
	})
	t.Run("what stands behind many jobs without room is reached by one claim", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		for i := range 100 {
			f.add(false, ofKind("slow", fmt.Sprintf("s%d", i))...)
		}
		f.have("a", "b")
		f.is("a", idsOf(f.takeWith(1, map[string]int{"slow": 0}).Jobs))
		f.is(int64(100), f.stats().Parked)
	})
	t.Run("and so is an urgent job", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		adds := ofKind("slow", "s1", "s2", "s3", "k")
		for i := range adds {
			adds[i].Priority = 7
		}
		adds[3].Job.Kind = "k"
		f.add(false, adds...)
		f.have("a")
		f.is("k", idsOf(f.takeWith(1, map[string]int{"slow": 0}).Jobs))
	})
	t.Run("jobs set aside are counted and others are called", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.add(false, ofKind("slow", "s1", "s2", "s3")...)
		must := func(bells int64, got store.Claimed, parked int64) {
			t.Helper()
			f.is([]int64{bells, parked, 0}, []int64{f.bells(), got.Parked, got.Left})
			f.must(f.rdb.Unlink(t.Context(), f.Tag()+"bell").Err())
		}
		must(1, f.takeWith(9, map[string]int{"slow": 0}), 3)
		must(0, f.takeWith(9, map[string]int{"slow": 1}), 2) // nothing new, and this worker could take no more
		must(1, f.takeWith(1, map[string]int{"slow": 5}), 1) // it could have taken the last one
	})
	t.Run("a kind with room is not kept waiting by parked ones without", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.add(false, append(ofKind("slow", "s1", "s2"), ofKind("slower", "t1")...)...)
		f.takeWith(9, map[string]int{"slow": 0, "slower": 0})
		f.is("t1", idsOf(f.takeWith(1, map[string]int{"slow": 0, "slower": 1}).Jobs))
	})
}
