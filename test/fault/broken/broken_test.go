package broken_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/waybillhq/waybill/test/fault/broken"
	"github.com/waybillhq/waybill/test/fault/extent"
)

const root = "../../.."

// TestFaults shows that every place a fault changes is there once, so that the list can't rot.
func TestFaults(t *testing.T) {
	names := map[string]bool{}
	for _, f := range broken.All() {
		t.Run(f.Name, func(t *testing.T) {
			if names[f.Name] {
				t.Error("another fault has this name")
			}
			names[f.Name] = true
			if f.Breaks == "" || len(f.Caught) == 0 || len(f.Edits) == 0 {
				t.Error("it does not say what it breaks, or what catches it")
			}
			if _, err := broken.Overlay(root, t.TempDir(), []broken.Fault{f}); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := broken.Overlay(root, t.TempDir(), broken.All()); err != nil {
		t.Errorf("all faults together: %v", err)
	}
}

// least is how many faults each tier is to catch.
var least = map[string]int{"T1": 15, "T2": 6, "T4": 3, "T5": 2, "T6": 2}

// TestTiers shows that no tier is there for nothing: each catches some faults.
func TestTiers(t *testing.T) {
	caught := map[string]int{}
	for _, f := range broken.All() {
		for _, c := range f.Caught {
			caught[c.Tier]++
		}
	}
	for tier, n := range least {
		if caught[tier] < n {
			t.Errorf("%s catches %d faults, want %d", tier, caught[tier], n)
		}
	}
}

// TestCaught plays faults against the tests that are to catch them: two of those that a script's comparison finds at once, or all
// where WAYBILL_FAULTS is not "check".
func TestCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds tests anew")
	}
	seed, size := extent.Seed(t), extent.Of(t)
	b := newBuild(t, size.Full)
	for _, f := range chosen(seed, size) {
		for i, c := range f.Caught {
			t.Run(f.Name+" is caught by "+c.Tier+" "+strconv.Itoa(i), func(t *testing.T) { b.catches(t, f, c) })
		}
	}
	t.Logf("\n%s", b.table())
}

// chosen are the faults that are played.
func chosen(seed uint64, size extent.Size) []broken.Fault {
	all := broken.All()
	if size.Full {
		return all
	}
	var quick []broken.Fault
	for _, f := range all {
		for _, c := range f.Caught {
			if c.Quick {
				f.Caught = []broken.Cell{c}
				quick = append(quick, f)
			}
		}
	}
	extent.Random(seed).Shuffle(len(quick), func(i, k int) { quick[i], quick[k] = quick[k], quick[i] })
	return quick[:2]
}

// environ is the environment of a cell.
func environ(of ...string) []string { return append(os.Environ(), of...) }
