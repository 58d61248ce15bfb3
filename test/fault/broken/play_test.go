package broken_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/waybillhq/waybill/test/fault/broken"
	"github.com/waybillhq/waybill/test/internal/program"
)

// build is the tests of some packages with all faults in them, asleep.
type build struct {
	dir, overlay string
	full         bool
	binaries     map[string]string // by package
	healthy      map[broken.Cell]bool
	rows         [][]string // of the table
}

func newBuild(t *testing.T, full bool) *build {
	t.Helper()
	dir := t.TempDir()
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := broken.Overlay(here, dir, broken.All())
	if err != nil {
		t.Fatal(err)
	}
	return &build{dir: dir, overlay: overlay, full: full, binaries: map[string]string{}, healthy: map[broken.Cell]bool{}}
}

// catches plays a cell without any fault, unless that was done, and with one awake.
func (b *build) catches(t *testing.T, f broken.Fault, c broken.Cell) {
	t.Helper()
	if !b.healthy[c] {
		b.healthy[c] = true
		if out, err := b.play(t, c, ""); err != nil {
			t.Fatalf("%s fails without any fault: %v\n%s", c.Run, err, out)
		}
	}
	began := time.Now()
	out, err := b.play(t, c, f.Name)
	took := time.Since(began)
	if why := missed(c, out, err); why != "" {
		t.Errorf("%s: %s\n%s", f.Breaks, why, out)
		b.rows = append(b.rows, []string{f.Name, f.Breaks, c.Tier, "-", why})
		return
	}
	row := []string{f.Name, f.Breaks, c.Tier, fmt.Sprintf("%.1f", took.Seconds()), shown(c, out)}
	t.Log(row)
	b.rows = append(b.rows, row)
}

// missed says why a run with a fault awake did not catch it; "" = it did. A script that the server can't run, a panic and
// the end of patience are no catch.
func missed(c broken.Cell, out []byte, err error) string {
	switch {
	case err == nil:
		return "it was not caught"
	case !bytes.Contains(out, []byte("--- FAIL: ")):
		return fmt.Sprintf("the test did not come to say so: %v", err)
	case bytes.Contains(out, []byte("panic: ")), bytes.Contains(out, []byte("Error compiling script")):
		return "the fault does not run as it should"
	case !regexp.MustCompile(c.Says).Match(out):
		return "it failed, and did not say " + c.Says
	}
	return ""
}

var (
	told = regexp.MustCompile(`^\s*(\[rapid\] failed|\w+\.go:\d+: )`)
	seed = regexp.MustCompile(`WAYBILL_SEED|seed \d+; again`)
)

// shown is the first line of a failure that says what is wrong.
func shown(c broken.Cell, out []byte) string {
	says := regexp.MustCompile(c.Says)
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if told.MatchString(line) && says.MatchString(line) && !seed.MatchString(line) {
			return line[:min(len(line), 160)]
		}
	}
	return ""
}

// table is what was played.
func (b *build) table() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fault\tbreaks\ttier\tseconds\tshown by")
	for _, row := range b.rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
	return text.String()
}

// play runs a cell with a fault awake; "" = none.
func (b *build) play(t *testing.T, c broken.Cell, fault string) ([]byte, error) {
	t.Helper()
	search := "5s" // how long T1 goes on
	if fault != "" {
		search = "90s" // where it finds nothing
	}
	args := []string{"-test.run=" + c.Run, "-test.timeout=" + c.Within.String()}
	if c.Package == "./internal/store" {
		args = append(args, "-rapid.nofailfile", "-rapid.shrinktime=500ms")
	}
	set := environ("WAYBILL_BROKEN="+fault, "WAYBILL_T1="+search, "WAYBILL_FAULTS="+c.Size, "GOFLAGS=-overlay="+b.overlay)
	if c.Seed != "" {
		set = append(set, "WAYBILL_SEED="+c.Seed)
	}
	if c.Tier == "T2" || c.Tier == "T5" {
		set = append(set, program.BinaryEnv+"="+b.binary(t, "./test/fault/actor", "build", "-ldflags=-s -w"))
	}
	binary := b.binary(t, c.Package, "test", "-c")
	ctx, stop := context.WithTimeout(t.Context(), c.Within+30*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = filepath.Join(root, c.Package)
	cmd.Env = set
	return cmd.CombinedOutput()
}

// binary builds a package as a go command does, once.
func (b *build) binary(t *testing.T, pkg string, command ...string) string {
	t.Helper()
	if path, ok := b.binaries[pkg]; ok {
		return path
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(pkg))
	path := filepath.Join(b.dir, cmp.Or(strings.Trim(filepath.Base(pkg), "."), "root")+strconv.Itoa(int(sum.Sum32()))+".test")
	args := append(command, "-overlay", b.overlay, "-o", path, pkg)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	b.binaries[pkg] = path
	return path
}
