package redistest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/redistest"
)

func TestShared(t *testing.T) {
	t.Parallel()
	a, prefixA := redistest.Shared(t)
	b, prefixB := redistest.Shared(t)
	if prefixA == prefixB {
		t.Errorf("one prefix twice: %s", prefixA)
	}
	must(t, a.Set(t.Context(), prefixA+":k", "v", 0).Err())
	if b.Exists(t.Context(), prefixA+":k").Val() != 1 {
		t.Error("two calls gave two servers")
	}
}

// TestShared_hold is no test of its own: the next one runs it in a process that
// it kills.
func TestShared_hold(t *testing.T) {
	if os.Getenv("WAYBILL_TEST_HOLD") == "" {
		t.Skip("run by TestShared_parentKilled only")
	}
	c, _ := redistest.Shared(t)
	fmt.Println("addr", c.Options().Addr)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent lets go
}

func TestShared_parentKilled(t *testing.T) {
	t.Parallel()
	redistest.Binary(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a child's life to its parent's")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestShared_hold$", "-test.v")
	cmd.Env = append(os.Environ(), "WAYBILL_TEST_HOLD=1")
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
	_, err = conn.Read(make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the server outlives the test process")
	}
}

// recorder is a testing.TB that notes how the test was ended.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Skip(args ...any) {
	r.skipped = fmt.Sprint(args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) {
	r.failed = fmt.Sprint(args...)
	runtime.Goexit()
}

func TestBinary_missing(t *testing.T) {
	run := func(t *testing.T, ci string) *recorder {
		t.Setenv("PATH", t.TempDir())
		t.Setenv("CI", ci)
		r := &recorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			redistest.Binary(r)
		}()
		<-done
		return r
	}
	t.Run("skips loudly", func(t *testing.T) {
		if r := run(t, ""); !strings.Contains(r.skipped, "NO REDIS") || r.failed != "" {
			t.Errorf("skipped %q, failed %q", r.skipped, r.failed)
		}
	})
	t.Run("fails in CI", func(t *testing.T) {
		if r := run(t, "true"); !strings.Contains(r.failed, "NO REDIS") || r.skipped != "" {
			t.Errorf("skipped %q, failed %q", r.skipped, r.failed)
		}
	})
}
