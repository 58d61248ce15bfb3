package devredis_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/devredis"
	"github.com/waybillhq/waybill/internal/redistest"
)

func freeAddr(t *testing.T) string {
	t.Helper()
	port, err := devredis.FreePort(t.Context())
	must(t, err)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

func shell(t *testing.T, script string) *devredis.Process {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	p, err := devredis.Command{Binary: sh, Args: []string{"-c", script}}.Start()
	must(t, err)
	t.Cleanup(p.Kill)
	return p
}

func TestProcess(t *testing.T) {
	t.Parallel()
	t.Run("stop reports how the child ended", func(t *testing.T) {
		t.Parallel()
		p := shell(t, "echo last words; exit 3")
		<-p.Done()
		err := p.Stop(time.Second)
		if !errors.Is(err, devredis.ErrExited) || !strings.Contains(err.Error(), "last words") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("stop kills a child that does not listen", func(t *testing.T) {
		t.Parallel()
		p := shell(t, "while :; do :; done")
		must(t, p.Signal(syscall.SIGSTOP)) // a stopped process keeps SIGTERM waiting
		if err := p.Stop(10 * time.Millisecond); err == nil {
			t.Error("no error")
		}
		<-p.Done()
	})
	t.Run("output keeps the last lines", func(t *testing.T) {
		t.Parallel()
		p := shell(t, "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done")
		<-p.Done()
		out := p.Output()
		if len(out) > 4<<10 || !strings.HasSuffix(out, "\nline 1999") || !strings.HasPrefix(out, "line ") {
			t.Errorf("%d bytes: %q ... %q", len(out), out[:20], out[len(out)-20:])
		}
	})
	t.Run("missing program", func(t *testing.T) {
		t.Parallel()
		_, err := devredis.Command{Binary: "/nonexistent/redis-server"}.Start()
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("child outlives idle threads and collections", func(t *testing.T) {
		t.Parallel()
		_, c := start(t, devredis.Options{})
		for range 3 {
			// A locked goroutine that ends takes its thread with it.
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				runtime.LockOSThread()
			}()
			<-ended
			runtime.GC()
		}
		must(t, c.Ping(t.Context()).Err())
	})
}

// TestStart_hold is no test of its own: the next one runs it in a process that
// it kills.
func TestStart_hold(t *testing.T) {
	dir := os.Getenv("WAYBILL_TEST_HOLD")
	if dir == "" {
		t.Skip("run by TestStart_parentKilled only")
	}
	s, c := start(t, devredis.Options{Dir: dir})
	must(t, c.Set(t.Context(), "k", "v", 0).Err())
	fmt.Println("addr", hostPort(s))
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent lets go
}

func TestStart_parentKilled(t *testing.T) {
	t.Parallel()
	redistest.Binary(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a child's life to its parent's")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStart_hold$", "-test.v")
	cmd.Env = append(os.Environ(), "WAYBILL_TEST_HOLD="+dir)
	stdin, err := cmd.StdinPipe()
	must(t, err)
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	addr := ""
	for lines := bufio.NewScanner(stdout); addr == "" && lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "addr "); ok {
			addr = rest
		}
	}
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	must(t, err)
	defer conn.Close()

	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // "signal: killed"
	must(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	if _, err = conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the server outlives its parent")
	}
	// Its connections close before its files do: the lock may be held a moment
	// longer.
	s := startWhenUnlocked(t, dir)
	defer s.Close()
	if got := client(t, s).Get(t.Context(), "k").Val(); got != "v" {
		t.Errorf("what the killed server accepted is %q", got)
	}
}

func startWhenUnlocked(t *testing.T, dir string) *devredis.Server {
	t.Helper()
	for {
		s, err := devredis.Start(t.Context(), devredis.Options{Dir: dir})
		if !errors.Is(err, devredis.ErrDirInUse) {
			must(t, err)
			return s
		}
	}
}
