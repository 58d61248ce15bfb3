package main_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// process is a run of the program in a process of its own.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	ended chan struct{}

	mu     sync.Mutex
	out    bytes.Buffer
	logged bytes.Buffer
}

// launch starts the program. It is killed when the test ends.
func launch(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return launchWith(t, nil, env, args...)
}

// launchWith starts the program with a stdin; nil is none.
func launchWith(t *testing.T, stdin *os.File, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), "waybill", args...), ended: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), "GORACE="+quickExit), env...)
	if stdin != nil {
		p.cmd.Stdin = stdin
	}
	var copies sync.WaitGroup
	for _, to := range []struct {
		buf  *bytes.Buffer
		open func() (io.ReadCloser, error)
	}{{&p.out, p.cmd.StdoutPipe}, {&p.logged, p.cmd.StderrPipe}} {
		r, err := to.open()
		must(t, err)
		copies.Go(func() {
			for lines := bufio.NewScanner(r); lines.Scan(); {
				p.mu.Lock()
				to.buf.WriteString(lines.Text() + "\n")
				p.mu.Unlock()
			}
		})
	}
	must(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		copies.Wait()
		_ = p.cmd.Wait() // its state tells more
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("stdout:\n%s\nstderr:\n%s", p.stdout(), p.stderr())
		}
	})
	return p
}

func (p *process) stdout() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func (p *process) stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.logged.String()
}

func (p *process) signal(sig os.Signal) {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(sig))
}

// status waits for the end of the process.
func (p *process) status() int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(30 * time.Second):
		p.t.Fatal("the process does not end")
		return 0
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

// worker starts a worker on queue q whose command writes its process ID and goes on with a script.
func worker(t *testing.T, s *redistest.Server, script string, flags ...string) (p *process, pidFile string) {
	t.Helper()
	pidFile = filepath.Join(t.TempDir(), "pid")
	args := append([]string{"work", "--queue", "q"}, flags...)
	args = append(args, "--exec", "sh", "-c", script+"\necho $$ >"+pidFile+"\n"+"while :; do sleep 0.01; [ ! -e "+pidFile+".go ] || break; done")
	p = launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, args...)
	until(t, "the command runs", func() bool {
		raw, _ := os.ReadFile(pidFile)
		return len(raw) > 0
	})
	return p, pidFile
}

// goOn lets the command of a worker end.
func goOn(t *testing.T, pidFile string) {
	t.Helper()
	must(t, os.WriteFile(pidFile+".go", nil, 0o600))
}

// held makes a server with one job, and a client.
func held(t *testing.T) (*redistest.Server, *waybill.Client) {
	t.Helper()
	s := redistest.Start(t)
	c := client(t, s)
	send(t, c, waybill.Request{Queue: "q", Kind: "k", ID: "id", Retention: time.Hour})
	return s, c
}

func TestWork_stop(t *testing.T) {
	t.Parallel()
	t.Run("TERM lets the command end within the grace", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		p, pid := worker(t, s, "")
		p.signal(syscall.SIGTERM)
		until(t, "it stops", func() bool { return strings.Contains(p.stderr(), "stopping") })
		goOn(t, pid)
		if got := p.status(); got != 0 {
			t.Errorf("status %d", got)
		}
		if j := job(t, c, "id"); j.State != waybill.StateCompleted || j.Attempt != 1 {
			t.Errorf("job is %s after %d attempts", j.State, j.Attempt)
		}
	})
	t.Run("after the grace the command is ended and its job released", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		p, pid := worker(t, s, "trap 'exit 0' TERM", "--grace", "50ms")
		p.signal(os.Interrupt)
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
		s, c := held(t)
		p, pid := worker(t, s, "trap '' TERM")
		p.signal(syscall.SIGTERM)
		until(t, "it stops", func() bool { return strings.Contains(p.stderr(), "stopping") })
		p.signal(syscall.SIGTERM)
		if got := p.status(); got != 1 || strings.Contains(p.stderr(), "grace is over") {
			t.Errorf("status %d", got)
		}
		gone(t, pid)
		if j := job(t, c, "id"); j.Failures != 0 || j.State == waybill.StateCompleted {
			t.Errorf("job is %s, %d failures", j.State, j.Failures)
		}
	})
	t.Run("TSTP claims no more, lets the command end, and stays", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		p, pid := worker(t, s, "", "--grace", "1ms")
		p.signal(syscall.SIGTSTP)
		until(t, "it is quiet", func() bool { return strings.Contains(p.stderr(), "quiet: no more claims") })
		send(t, c, waybill.Request{Queue: "q", Kind: "k", ID: "later"})
		goOn(t, pid)
		until(t, "the command has ended", func() bool { return job(t, c, "id").State == waybill.StateCompleted })
		select {
		case <-p.ended:
			t.Error("the quiet worker ended")
		default:
		}
		p.signal(syscall.SIGTERM)
		if got := p.status(); got != 0 {
			t.Errorf("status %d", got)
		}
		if j := job(t, c, "later"); j.State != waybill.StateReady || j.Attempt != 0 {
			t.Errorf("the later job is %s after %d attempts", j.State, j.Attempt)
		}
	})
	t.Run("TSTP with --until-empty: it stays until the queues are empty", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		p, pid := worker(t, s, "", "--until-empty")
		p.signal(syscall.SIGTSTP)
		until(t, "it is quiet", func() bool { return strings.Contains(p.stderr(), "quiet: no more claims") })
		goOn(t, pid)
		if got := p.status(); got != 0 {
			t.Errorf("status %d", got)
		}
		if j := job(t, c, "id"); j.State != waybill.StateCompleted {
			t.Errorf("job is %s", j.State)
		}
	})
	t.Run("a killed worker leaves no command behind", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS != "linux" {
			t.Skip("only Linux ties a child's life to its parent's")
		}
		s, _ := held(t)
		p, pid := worker(t, s, "")
		p.signal(os.Kill)
		<-p.ended
		gone(t, pid)
	})
}

func TestWork_commandThatCannotStart(t *testing.T) {
	t.Parallel()
	released := func(t *testing.T, c *waybill.Client) int64 {
		stats, err := c.Queue("q").Stats(t.Context())
		must(t, err)
		return stats.Released
	}
	const failed = "level=ERROR msg=\"command can't start"
	t.Run("without its interpreter", func(t *testing.T) {
		t.Parallel()
		command := filepath.Join(t.TempDir(), "script")
		must(t, os.WriteFile(command, []byte("#!/nonexistent/python\n"), 0o700))
		s, c := held(t)
		p := launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, "work", "--queue", "q", "--exec", command)
		until(t, "the job is released", func() bool { return released(t, c) > 0 && strings.Contains(p.stderr(), failed) })
		p.signal(syscall.SIGTERM)
		if got := p.status(); got != 0 {
			t.Errorf("status %d", got)
		}
		if j := job(t, c, "id"); j.State != waybill.StateReady || j.Failures != 0 || j.Crashes != 0 || len(j.Errors) != 0 {
			t.Errorf("job is %s, %d failures, %d crashes, %v", j.State, j.Failures, j.Crashes, j.Errors)
		}
	})
	t.Run("one that vanishes is told of once, and when it is back", func(t *testing.T) {
		t.Parallel()
		command := filepath.Join(t.TempDir(), "script")
		must(t, os.WriteFile(command, []byte("#!/bin/sh\nrm \"$0\"\n"), 0o700))
		s, c := held(t)
		for range 3 {
			send(t, c, waybill.Request{Queue: "q", Kind: "k"})
		}
		p := launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, "work", "--queue", "q=1", "--exec", command)
		until(t, "jobs are released", func() bool { return released(t, c) > 2 })
		must(t, os.WriteFile(command+".new", []byte("#!/bin/sh\n"), 0o700))
		must(t, os.Rename(command+".new", command))
		until(t, "all are done", func() bool {
			stats, err := c.Queue("q").Stats(t.Context())
			must(t, err)
			return stats.Completed == 4 && strings.Contains(p.stderr(), "command starts again")
		})
		if n := strings.Count(p.stderr(), failed); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

func TestDev(t *testing.T) {
	t.Parallel()
	redistest.Binary(t)
	dev := func(t *testing.T, env []string, args ...string) (p *process, url string) {
		p = launch(t, env, append([]string{"dev"}, args...)...)
		until(t, "the URL is printed", func() bool { return strings.HasSuffix(p.stdout(), "\n") })
		return p, strings.TrimSuffix(p.stdout(), "\n")
	}
	run := func(t *testing.T, args ...string) string {
		out, err := exec.CommandContext(t.Context(), "waybill", args...).Output()
		must(t, err)
		return string(out)
	}
	t.Run("jobs stay in the data directory from one run to the next", func(t *testing.T) {
		t.Parallel()
		home := []string{"XDG_DATA_HOME=" + t.TempDir()}
		p, url := dev(t, home, "--addr", "127.0.0.1:0")
		run(t, "--redis", url, "enqueue", "q", "k", "payload", "--id", "a")
		p.signal(syscall.SIGTERM)
		if got := p.status(); got != 0 || !strings.Contains(p.stderr(), "keeps its data in ") {
			t.Errorf("status %d", got)
		}
		p, url = dev(t, home, "--addr", "127.0.0.1:0")
		if got := run(t, "--redis", url, "job", "get", "q", "a"); !strings.Contains(got, "payload       payload\n") {
			t.Errorf("job is %s", got)
		}
		if other := launch(t, home, "dev", "--addr", "127.0.0.1:0"); other.status() != 1 ||
			!strings.Contains(other.stderr(), "give another --dir") {
			t.Error("two servers in one directory")
		}
		p.signal(os.Interrupt)
		if got := p.status(); got != 0 {
			t.Errorf("status %d", got)
		}
	})
	t.Run("in memory it says loudly that jobs vanish", func(t *testing.T) {
		t.Parallel()
		p, url := dev(t, nil, "--in-memory", "--addr", "127.0.0.1:0")
		run(t, "--redis", url, "enqueue", "q", "k", "payload", "--id", "a")
		run(t, "--redis", url, "work", "--queue", "q", "--until-empty", "--exec", "true")
		if got := run(t, "--redis", url, "job", "get", "q", "a"); !strings.Contains(got, "state   completed") {
			t.Errorf("job is %s", got)
		}
		if !strings.Contains(p.stderr(), "IN MEMORY ONLY: all jobs vanish when this ends.") {
			t.Error("it is not said")
		}
		p.signal(syscall.SIGTERM)
		if got := p.status(); got != 0 {
			t.Errorf("status %d", got)
		}
	})
}
