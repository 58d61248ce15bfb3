package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// kill ends the program by SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// pipeWorker starts a worker on queue q with one child, which writes its process ID when it has a job, does something,
// and acknowledges when it is told to go on.
func pipeWorker(t *testing.T, s *redistest.Server, do string, flags ...string) (p *process, pidFile string) {
	t.Helper()
	pidFile = filepath.Join(t.TempDir(), "pid")
	args := append([]string{"work", "--queue", "q=1"}, flags...)
	p = launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, append(args, "--pipe", "sh", "-c", pipeLoop(
		do+"\necho $$ >"+pidFile+"\nwhile [ ! -e "+pidFile+".go ]; do sleep 0.01; done; say '\"outcome\":\"ack\",\"result\":\"saved\"'"))...)
	until(t, "the child has a job", func() bool {
		raw, _ := os.ReadFile(pidFile)
		return len(raw) > 0
	})
	return p, pidFile
}

func TestPipe_noLongerWanted(t *testing.T) {
	t.Parallel()
	next := func(t *testing.T, c *waybill.Client, pid string) {
		t.Helper()
		goOn(t, pid)
		send(t, c, waybill.Request{Queue: "q", Kind: "k", ID: "next", Retention: time.Hour})
		until(t, "a new child does the next job", func() bool { return job(t, c, "next").State == waybill.StateCompleted })
	}
	t.Run("a lost lease ends the child, and a new one comes", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		p, pid := pipeWorker(t, s, "", "--lease", "300ms")
		must(t, c.Queue("q").Delete(t.Context(), "id", waybill.DeleteOptions{Force: true}))
		gone(t, pid)
		next(t, c, pid)
		if j := job(t, c, "id"); j.State != waybill.StateDeleted || !strings.Contains(p.stderr(), "lease lost") {
			t.Errorf("job is %s", j.State)
		}
	})
	t.Run("so does a cancel, which is no failure", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		_, pid := pipeWorker(t, s, "", "--lease", "300ms")
		must(t, c.Queue("q").Cancel(t.Context(), "id", "not needed"))
		gone(t, pid)
		next(t, c, pid)
		if j := job(t, c, "id"); j.State != waybill.StateCancelled || j.Failures != 0 || j.Reason != "not needed" {
			t.Errorf("job is %s, %d failures, reason %q", j.State, j.Failures, j.Reason)
		}
	})
	t.Run("what a cancelled job's child settles counts", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		_, pid := pipeWorker(t, s, `trap 'say "\"outcome\":\"ack\",\"result\":1"; exit 0' TERM`, "--lease", "300ms")
		must(t, c.Queue("q").Cancel(t.Context(), "id", "not needed"))
		gone(t, pid)
		until(t, "the job has ended", func() bool { return job(t, c, "id").State == waybill.StateCompleted })
	})
	t.Run("a timeout ends who does not listen to SIGTERM 5 s later", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		_, pid := pipeWorker(t, s, `trap '' TERM`, "--timeout", "500ms", "--max-failures", "1")
		gone(t, pid)
		until(t, "the job is dead", func() bool { return job(t, c, "id").State == waybill.StateDead })
		if j := job(t, c, "id"); j.FinishedAt.Sub(j.StartedAt) < 5*time.Second || j.Errors[0].Message != "attempt timed out: signal: killed" {
			t.Errorf("%v, %+v", j.FinishedAt.Sub(j.StartedAt), j.Errors)
		}
	})
	t.Run("TERM lets the job end within the grace", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		p, pid := pipeWorker(t, s, "")
		p.signal(syscall.SIGTERM)
		until(t, "it stops", func() bool { return strings.Contains(p.stderr(), "stopping") })
		goOn(t, pid)
		if got := p.status(); got != 0 {
			t.Errorf("status %d", got)
		}
		if j := job(t, c, "id"); j.State != waybill.StateCompleted || j.Attempt != 1 || string(j.Result) != `"saved"` {
			t.Errorf("job is %s after %d attempts", j.State, j.Attempt)
		}
		gone(t, pid)
	})
	t.Run("after the grace the child is ended and its job released", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		p, pid := pipeWorker(t, s, "", "--grace", "50ms")
		p.signal(syscall.SIGTERM)
		if got := p.status(); got != 0 {
			t.Errorf("status %d", got)
		}
		gone(t, pid)
		if j := job(t, c, "id"); j.State != waybill.StateReady || j.Failures != 0 || j.Crashes != 0 {
			t.Errorf("job is %s, %d failures, %d crashes", j.State, j.Failures, j.Crashes)
		}
	})
	t.Run("a second signal ends all at once, with status 1", func(t *testing.T) {
		t.Parallel()
		s, _ := held(t)
		p, pid := pipeWorker(t, s, `trap '' TERM`)
		p.signal(syscall.SIGTERM)
		until(t, "it stops", func() bool { return strings.Contains(p.stderr(), "stopping") })
		p.signal(syscall.SIGTERM)
		if got := p.status(); got != 1 {
			t.Errorf("status %d", got)
		}
		gone(t, pid)
	})
}

// TestPipe_notReady: nothing is claimed before a child is ready, and one that never is harms no job.
func TestPipe_notReady(t *testing.T) {
	t.Parallel()
	const failed = "level=ERROR msg=\"command can't start"
	for name, tc := range map[string]struct{ script, time, why string }{
		"it says nothing":                 {"exec sleep 60", "300ms", "child is not ready after 300ms: it is to write"},
		"it ends":                         {"echo no model >&2; exit 7", "30s", "child ended before it was ready: exit status 7: no model"},
		"it closes its stdout":            {"exec 1>&-; exec sleep 60", "30s", "child closed its stdout before it was ready"},
		"it writes a line that is no end": {"cat /dev/zero", "30s", "child wrote a line of more than 1572864 bytes before it was ready"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := held(t)
			begun := filepath.Join(t.TempDir(), "begun")
			p := launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, "work", "--queue", "q=2", "--ready-timeout", tc.time, "--pipe",
				"sh", "-c", "echo >>"+begun+"; "+tc.script)
			until(t, "it was tried again and again", func() bool {
				raw, _ := os.ReadFile(begun)
				return len(raw) >= 6
			})
			if j := job(t, c, "id"); j.State != waybill.StateReady || j.Attempt != 0 {
				t.Errorf("job is %s after %d attempts", j.State, j.Attempt)
			}
			if n := strings.Count(p.stderr(), failed); n != 1 || !strings.Contains(p.stderr(), tc.why) {
				t.Errorf("told %d times", n)
			}
			p.signal(syscall.SIGTERM)
			if got := p.status(); got != 0 {
				t.Errorf("status %d", got)
			}
		})
	}
	t.Run("once it is, work begins, and that is told", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		flag := filepath.Join(t.TempDir(), "flag")
		p := launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, "work", "--queue", "q=1", "--pipe", "sh", "-c",
			"[ -e "+flag+" ] || exit 1; "+pipeLoop(`say '"outcome":"ack"'`))
		until(t, "it is told", func() bool { return strings.Contains(p.stderr(), failed) })
		must(t, os.WriteFile(flag, nil, 0o600))
		until(t, "the job is done", func() bool {
			return job(t, c, "id").State == waybill.StateCompleted && strings.Contains(p.stderr(), "command starts again")
		})
		if j := job(t, c, "id"); j.Attempt != 1 {
			t.Errorf("%d attempts", j.Attempt)
		}
	})
	t.Run("a child that ends without a job is not started without end", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		begun := filepath.Join(t.TempDir(), "begun")
		p := launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, "work", "--queue", "q=1", "--pipe", "sh", "-c",
			"date +%s%N >>"+begun+"; echo '{\"type\":\"ready\"}'")
		var raw []byte
		until(t, "it was started five times", func() bool {
			raw, _ = os.ReadFile(begun)
			return strings.Count(string(raw), "\n") >= 5
		})
		lines := strings.Fields(string(raw)) // the waits between are at least 50, 100, 200 and 400 ms
		first, err := time.ParseDuration(lines[0] + "ns")
		must(t, err)
		fifth, err := time.ParseDuration(lines[4] + "ns")
		must(t, err)
		if took := fifth - first; took < 750*time.Millisecond {
			t.Errorf("five starts within %v", took)
		}
		if n := strings.Count(p.stderr(), failed); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}
