package main_test

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	main "github.com/waybillhq/waybill/cmd/waybill"
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
		if g, ended := main.ParseStat([]byte(c.stat)); g != c.group || ended != c.ended {
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
	if alive, runs := main.GroupAlive(pid); !alive || !runs {
		t.Errorf("a group that runs: alive %v, runs %v", alive, runs)
	}
	must(t, stdin.Close())
	until(t, "only the zombie is left", func() bool { _, runs := main.GroupAlive(pid); return !runs })
	if alive, _ := main.GroupAlive(pid); !alive {
		t.Error("the zombie was reaped")
	}
	must(t, cmd.Wait())
}

// TestExec_zombies has a process of the command's group end at SIGTERM and not be reaped: its parent
// left the group, and sleeps.
func TestExec_zombies(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no python3: it makes the zombie")
		}
		t.Skip("NO python3: this test did not run. It makes the zombie.")
	}
	const python = `import os, time
if os.fork() == 0:
    if os.fork() == 0: time.sleep(60)
    os.closerange(0, 3); os.setsid(); time.sleep(15); os._exit(0)
time.sleep(60)`
	j, _ := worked(t, waybill.Request{}, "exec python3 -c '"+python+"'", "--timeout", "2s", "--max-failures", "1")
	if took := j.FinishedAt.Sub(j.StartedAt); j.State != waybill.StateDead || j.Errors[0].Type != "timeout" || took >= 6*time.Second {
		t.Errorf("job is %s after %v, %+v", j.State, took, j.Errors)
	}
}
