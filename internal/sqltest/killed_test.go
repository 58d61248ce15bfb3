package sqltest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/devsql"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/sqltest"
)

// TestHold is no test of its own: the next one runs it in a process that it kills.
func TestHold(t *testing.T) {
	kind := dialect.Dialect(os.Getenv("WAYBILL_TEST_HOLD"))
	if kind == "" {
		t.Skip("run by TestParentKilled only")
	}
	s := sqltest.Start(t, kind, devsql.Options{NoSync: true})
	run(t, sqltest.On(t, s).Open(t), "CREATE TABLE t (n INTEGER)") // the connection stays open
	fmt.Println("server", s.PID(), s.Dir())
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent lets go
}

func TestParentKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a child's life to its parent's")
	}
	for _, kind := range []dialect.Dialect{dialect.PostgreSQL, dialect.MariaDB} {
		t.Run(string(kind)+" ends with its process, and its directory", func(t *testing.T) {
			t.Parallel()
			if _, ok := devsql.Find(kind); !ok {
				sqltest.Absent(t, kind)
			}
			pid, dir, kill := hold(t, kind)
			if syscall.Kill(pid, 0) != nil {
				t.Fatal("there is no server")
			}
			kill()
			waitGone(t, pid, dir, time.Now().Add(20*time.Second))
		})
	}
}

// hold starts a process that has a server.
func hold(t *testing.T, kind dialect.Dialect) (pid int, dir string, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHold$", "-test.v")
	cmd.Env = append(os.Environ(), "WAYBILL_TEST_HOLD="+string(kind))
	stdin, err := cmd.StdinPipe()
	must(t, err)
	t.Cleanup(func() { _ = stdin.Close() })
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	for lines := bufio.NewScanner(stdout); pid == 0 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "server ") {
			_, err := fmt.Sscanf(lines.Text(), "server %d %s", &pid, &dir)
			must(t, err)
		}
	}
	return pid, dir, func() {
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // "signal: killed"
	}
}

// waitGone waits until the process and the directory are gone.
func waitGone(t *testing.T, pid int, dir string, deadline time.Time) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		_, err := os.Stat(dir)
		running := syscall.Kill(pid, 0) == nil && !zombie(pid)
		if errors.Is(err, os.ErrNotExist) && !running {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server runs: %v; its directory: %v", running, err)
		}
		<-ticker.C
	}
}

// zombie reports whether the process has ended and nobody has asked how: who does so for an orphan is up to the
// system.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}
