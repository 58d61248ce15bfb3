package main_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

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
