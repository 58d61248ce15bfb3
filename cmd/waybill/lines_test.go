package main_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

func TestLines(t *testing.T) {
	t.Parallel()
	t.Run("a line over the limit is refused alone", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		most, over := strings.Repeat("x", 256<<10), strings.Repeat("y", 3<<20)
		got := waybillOn(t, s, "a\n"+over+"\n"+most+"\nb", "enqueue", "q", "k", "--lines", "--id", "x")
		if got.status != 2 || got.out != "x/1\nx/3\nx/4\n" {
			t.Errorf("status %d, stdout %q", got.status, got.out)
		}
		want := "waybill: line 2: payload: is 3145728 bytes: at most 262144\nwaybill: 4 lines: 3 accepted, 1 invalid\n"
		if got.err != want {
			t.Errorf("stderr %q", got.err)
		}
		c := client(t, s)
		if j := job(t, c, "x/3"); string(j.Payload) != most {
			t.Errorf("%d bytes arrived", len(j.Payload))
		}
		if _, err := c.Queue("q").Get(t.Context(), "x/2"); err == nil {
			t.Error("the line over the limit is there")
		}
	})
	t.Run("many lines arrive in order, each answered", func(t *testing.T) {
		t.Parallel()
		const n = 5000
		s := redistest.Start(t)
		got := waybillOn(t, s, strings.Repeat("payload\n", n), "enqueue", "q", "k", "--lines", "--json", "--id", "x")
		if got.status != 0 || strings.Count(got.out, `"outcome":"accepted"`) != n || !strings.Contains(got.out, `"id":"x/5000"`) {
			t.Errorf("status %d, %d lines", got.status, strings.Count(got.out, "\n"))
		}
		stats, err := client(t, s).Queue("q").Stats(t.Context())
		must(t, err)
		if stats.Ready != n {
			t.Errorf("%d jobs are ready", stats.Ready)
		}
	})
	t.Run("a line is sent and answered before the next one comes", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		cmd := exec.CommandContext(t.Context(), "waybill", "enqueue", "q", "k", "--lines", "--id", "x")
		cmd.Env = append(os.Environ(), "WAYBILL_REDIS="+s.URL(), "GORACE="+quickExit)
		in, err := cmd.StdinPipe()
		must(t, err)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		answers := bufio.NewScanner(out)
		for _, id := range []string{"x/1", "x/2", "x/3"} {
			_, err := in.Write([]byte("payload\n"))
			must(t, err)
			if !answers.Scan() || answers.Text() != id {
				t.Errorf("answer is %q, want %s", answers.Text(), id)
			}
		}
		must(t, in.Close())
		must(t, cmd.Wait())
	})
	t.Run("interrupted, it tells how far it came", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		p := launchFed(t, s, "enqueue", "q", "k", "--lines", "--id", "x")
		until(t, "a line is answered", func() bool { return p.stdout() == "x/1\n" })
		p.signal(os.Interrupt)
		if got := p.status(); got != 1 || !strings.Contains(p.stderr(), "interrupted: nothing after line 1 was sent") {
			t.Errorf("status %d", got)
		}
	})
}

// launchFed starts the program with a stdin that holds a line and does not end.
func launchFed(t *testing.T, s *redistest.Server, args ...string) *process {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() {
		_ = r.Close()
		_ = w.Close()
	})
	_, err = w.WriteString("payload\n")
	must(t, err)
	return launchWith(t, r, []string{"WAYBILL_REDIS=" + s.URL()}, args...)
}

func TestEnqueue_options(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := client(t, s)
	got := waybillOn(t, s, "", "enqueue", "q", "k", "x", "--id", "in", "--in", "1d2h", "--retention", "90s", "--max-failures", "3")
	if got.status != 0 {
		t.Fatal(got.err)
	}
	j := job(t, c, "in")
	if d := j.DueAt.Sub(j.EnqueuedAt); d != 26*time.Hour || j.Retention != 90*time.Second || j.MaxFailures != 3 {
		t.Errorf("due after %v, retention %v, max failures %d", d, j.Retention, j.MaxFailures)
	}
	got = waybillOn(t, s, "", "enqueue", "q", "k", "x", "--id", "past", "--at", "2020-01-01T00:00:00Z", "--priority", "5")
	if j := job(t, c, "past"); got.status != 0 || j.State != waybill.StateReady || j.Priority != 5 {
		t.Errorf("%s, priority %d: %s", j.State, j.Priority, got.err)
	}
	room := int64(2)
	must(t, c.Queue("q").Set(t.Context(), waybill.QueueSettings{Capacity: &room}))
	waited := make(chan ran, 1)
	go func() { waited <- waybillOn(t, s, "", "enqueue", "q", "k", "x", "--id", "w", "--on-full", "wait=1m") }()
	until(t, "it was full once", func() bool {
		stats, err := c.Queue("q").Stats(t.Context())
		must(t, err)
		return stats.Rejected > 0
	})
	must(t, c.Queue("q").Delete(t.Context(), "past", waybill.DeleteOptions{}))
	if got := <-waited; got.status != 0 || got.out != "w\n" || got.err != "waybill: waited: accepted after waiting for room\n" {
		t.Errorf("status %d, stdout %q, stderr %q", got.status, got.out, got.err)
	}
}
