package broken_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/test/fault/broken"
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
			if f.Breaks == "" || f.Caught.Tier == "" || len(f.Edits) == 0 {
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

// TestCaught plays faults against the tests that are to catch them: two of them, or all where WAYBILL_FAULTS is not "check".
func TestCaught(t *testing.T) {
	b := newBuild(t)
	for _, f := range chosen(t) {
		t.Run(f.Name+" is caught by "+f.Caught.Tier, func(t *testing.T) {
			if f.Caught.Pending {
				t.Skipf("%s is not there yet", f.Caught.Package)
			}
			if out, err := b.play(t, f.Caught, ""); err != nil {
				t.Fatalf("%s fails without any fault: %v\n%s", f.Caught.Run, err, out)
			}
			out, err := b.play(t, f.Caught, f.Name)
			if why := missed(out, err); why != "" {
				t.Errorf("%s: %s\n%s", f.Breaks, why, out)
			}
		})
	}
}

// chosen are the faults that are played.
func chosen(t *testing.T) []broken.Fault {
	all := broken.All()
	if size := os.Getenv("WAYBILL_FAULTS"); size != "" && size != "check" {
		return all
	}
	seed := rand.Uint64()
	if given := os.Getenv("WAYBILL_SEED"); given != "" {
		n, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			t.Fatalf("WAYBILL_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("WAYBILL_SEED=%d", seed)
	var quick []broken.Fault
	for _, f := range all {
		if f.Caught.Tier == "T1" {
			quick = append(quick, f)
		}
	}
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(quick), func(i, k int) { quick[i], quick[k] = quick[k], quick[i] })
	return quick[:2]
}

// missed says why a run with a fault awake did not catch it; "" = it did. A script that the server can't run, a panic and
// the end of patience are no catch.
func missed(out []byte, err error) string {
	switch {
	case err == nil:
		return "it was not caught"
	case !bytes.Contains(out, []byte("--- FAIL: ")):
		return fmt.Sprintf("the test did not come to say so: %v", err)
	case bytes.Contains(out, []byte("panic: ")), bytes.Contains(out, []byte("Error compiling script")):
		return "the fault does not run as it should"
	}
	return ""
}

// build is the tests of some packages with all faults in them, asleep.
type build struct {
	dir, overlay string
	binaries     map[string]string // by package
	healthy      map[broken.Cell]bool
}

func newBuild(t *testing.T) *build {
	dir := t.TempDir()
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := broken.Overlay(here, dir, broken.All())
	if err != nil {
		t.Fatal(err)
	}
	return &build{dir: dir, overlay: overlay, binaries: map[string]string{}, healthy: map[broken.Cell]bool{}}
}

// play runs a cell with a fault awake; "" = none, which is done once a cell.
func (b *build) play(t *testing.T, c broken.Cell, fault string) ([]byte, error) {
	if fault == "" && b.healthy[c] {
		return nil, nil
	}
	b.healthy[c] = true
	search := "20s" // how long T1 goes on
	if fault != "" {
		search = "90s" // where it finds nothing
	}
	args := []string{"-test.run=" + c.Run, "-test.timeout=" + c.Within.String()}
	if c.Package == "./internal/store" {
		args = append(args, "-rapid.nofailfile", "-rapid.shrinktime=500ms")
	}
	ctx, stop := context.WithTimeout(t.Context(), c.Within+10*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, b.binary(t, c.Package), args...)
	cmd.Dir = filepath.Join(root, c.Package)
	cmd.Env = append(os.Environ(), "WAYBILL_BROKEN="+fault, "WAYBILL_T1="+search, "GOFLAGS=-overlay="+b.overlay)
	return cmd.CombinedOutput()
}

func (b *build) binary(t *testing.T, pkg string) string {
	if path, ok := b.binaries[pkg]; ok {
		return path
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(pkg))
	path := filepath.Join(b.dir, strings.Trim(filepath.Base(pkg), ".")+strconv.Itoa(int(sum.Sum32()))+".test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", b.overlay, "-o", path, pkg)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	b.binaries[pkg] = path
	return path
}
