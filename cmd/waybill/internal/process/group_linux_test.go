package process_test

import (
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill/cmd/waybill/internal/process"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	stat := func(name, state string, threads int) string {
		return "17 (" + name + ") " + state + " 1 42 9 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 " + strconv.Itoa(threads) + " 0 5 0 0\n"
	}
	for _, c := range []struct {
		name, stat string
		group      int
		ended      bool
	}{
		{"running", stat("sh", "R", 1), 42, false},
		{"asleep", stat("sh", "S", 3), 42, false},
		{"zombie", stat("sh", "Z", 1), 42, true},
		{"dead", stat("sh", "X", 0), 42, true},
		{"zombie whose other threads go on", stat("sh", "Z", 2), 42, false},
		{"name with parentheses and blanks", stat("a) Z 1 7 (b", "S", 1), 42, false},
		{"cut off", "17 (sh) Z 1 42", 0, false},
		{"empty", "", 0, false},
	} {
		if g, ended := process.ParseStat([]byte(c.stat)); g != c.group || ended != c.ended {
			t.Errorf("%s: group %d, ended %v", c.name, g, ended)
		}
	}
}

func TestGroup_zombies(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	pid := cmd.Process.Pid
	if alive, runs := process.GroupAlive(pid); !alive || !runs {
		t.Errorf("a group that runs: alive %v, runs %v", alive, runs)
	}
	must(t, stdin.Close())
	until(t, "only the zombie is left", func() bool { _, runs := process.GroupAlive(pid); return !runs })
	if alive, _ := process.GroupAlive(pid); !alive {
		t.Error("the zombie was reaped")
	}
	must(t, cmd.Wait())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until waits until something is so.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for !is() {
		select {
		case <-deadline:
			t.Fatalf("never came true: %s", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}
