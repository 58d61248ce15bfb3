package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// worked sends one job, works the queue off with a shell script as command, and gives the job.
func worked(t *testing.T, r waybill.Request, script string, flags ...string) (waybill.JobInfo, ran) {
	t.Helper()
	s := redistest.Start(t)
	c := client(t, s)
	r.Queue, r.Kind, r.ID, r.Retention = "q", "k", "id", time.Hour
	send(t, c, r)
	args := append([]string{"work", "--queue", "q", "--until-empty"}, flags...)
	got := waybillOn(t, s, "", append(args, "--exec", "sh", "-c", script)...)
	if got.status != 0 {
		t.Fatalf("status %d: %s", got.status, got.err)
	}
	return job(t, c, "id"), got
}

func TestExec_status(t *testing.T) {
	t.Parallel()
	last := []string{"--max-failures", "1"} // else it is tried again, perhaps before the queue counts as empty
	cases := []struct {
		name, script        string
		flags               []string
		state               waybill.State
		failures, snoozes   int
		result, kind, error string
	}{
		{name: "0 completes with stdout as the result", script: "echo fine", state: waybill.StateCompleted, result: "fine\n"},
		{name: "0 without stdout has no result", script: ":", state: waybill.StateCompleted},
		{
			name: "75 puts the job off without a failure", script: "exit 75", flags: []string{"--snooze", "1h"},
			state: waybill.StateScheduled, snoozes: 1,
		},
		{
			name: "65 is dead at once", script: "echo bad data >&2; exit 65", state: waybill.StateDead, failures: 1,
			kind: "failure", error: "exit status 65: bad data",
		},
		{
			name: "another is a failure with the end of stderr", script: "echo no luck >&2; exit 3", flags: last, state: waybill.StateDead,
			failures: 1, kind: "failure", error: "exit status 3: no luck",
		},
		{
			name: "death by a signal is a failure that names it", script: "kill -SEGV $$", flags: last, state: waybill.StateDead,
			failures: 1, kind: "failure", error: "signal: segmentation fault",
		},
		{
			name: "a timeout is a failure, whatever the status", script: "trap 'exit 0' TERM; sleep 60 & wait",
			flags: append(last, "--timeout", "2s"), state: waybill.StateDead, failures: 1, kind: "timeout",
			error: "attempt timed out: exit status 0",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j, _ := worked(t, waybill.Request{}, c.script, c.flags...)
			if j.State != c.state || j.Failures != c.failures || j.Snoozes != c.snoozes || string(j.Result) != c.result {
				t.Errorf("%s, %d failures, %d snoozes, result %q", j.State, j.Failures, j.Snoozes, j.Result)
			}
			switch {
			case c.error == "" && len(j.Errors) == 0:
			case c.error == "" || len(j.Errors) != 1:
				t.Errorf("errors: %+v", j.Errors)
			case j.Errors[0].Type != c.kind || !strings.HasPrefix(j.Errors[0].Message, c.error):
				t.Errorf("error is %s: %s", j.Errors[0].Type, j.Errors[0].Message)
			}
		})
	}
}

// TestG17_numbersAndBytesComeBackExactly sends payloads that other formats bend, by argument and by
// file, through a failed attempt, and gets them back as payload and as result.
func TestG17_numbersAndBytesComeBackExactly(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := client(t, s)
	payloads := []string{
		"9007199254740993", "-9223372036854775808", "1e-7", "1.0", "1e400",
		`{"a":[9007199254740993,{"b":-9223372036854775808}],"c":1e-7,"d":{},"e":[]}`,
		"a\x00b", "\xff\xfe no UTF-8 \x80", "emoji 🦊 and \u2028", "'; rm -rf $HOME `id` $(id) \\", "ends in a line\n",
		strings.Repeat("x", 256<<10), "",
	}
	for i, p := range payloads {
		arg := "-"
		if p != "" && !strings.Contains(p, "\x00") && len(p) < 1000 {
			arg = p
		}
		got := waybillOn(t, s, p, "enqueue", "--id", strconv.Itoa(i), "--retention", "1h", "--in", "1ms", "--", "q", "k", arg)
		if got.status != 0 {
			t.Fatalf("payload %d: %s", i, got.err)
		}
	}
	// Each fails once; 64 KiB are read back by a program that knows nothing of them.
	dir := t.TempDir()
	script := `f="$1/$WAYBILL_JOB_ID"; if [ ! -e "$f" ]; then : >"$f"; exit 1; fi; exec cat`
	got := waybillOn(t, s, "", "work", "--queue", "q=4", "--until-empty", "--exec", "sh", "-c", script, "sh", dir)
	for range payloads { // their retries are due within seconds; meanwhile they do not count as work
		if got.status != 0 {
			t.Fatalf("status %d: %s", got.status, got.err)
		}
		stats, err := c.Queue("q").Stats(t.Context())
		must(t, err)
		if stats.Live() == 0 {
			break
		}
		for i := range payloads {
			_ = c.Queue("q").Promote(t.Context(), strconv.Itoa(i)) // those that wait
		}
		got = waybillOn(t, s, "", "work", "--queue", "q=4", "--until-empty", "--exec", "sh", "-c", script, "sh", dir)
	}
	attempts := int64(0)
	for i, p := range payloads {
		j := job(t, c, strconv.Itoa(i))
		attempts += int64(j.Attempt)
		if j.State != waybill.StateCompleted || j.Failures != 1 || string(j.Payload) != p || string(j.Result) != p {
			t.Errorf("payload %d: %s after %d failures, %d bytes came back as %d and %d", i, j.State, j.Failures, len(p),
				len(j.Payload), len(j.Result))
		}
	}
	// A job that was just claimed when a worker ended was given back; there is no other attempt beside the two.
	stats, err := c.Queue("q").Stats(t.Context())
	must(t, err)
	if attempts != int64(2*len(payloads))+stats.Released || stats.Crashes != 0 {
		t.Errorf("%d attempts at %d jobs, %d released, %d crashes", attempts, len(payloads), stats.Released, stats.Crashes)
	}
	shown := waybillOn(t, s, "", "job", "get", "q", "0", "--json")
	if !strings.Contains(shown.out, `"payload":"9007199254740993"`) || !strings.Contains(shown.out, `"result":"9007199254740993"`) {
		t.Errorf("shown as %s", shown.out)
	}
}

func TestExec_environment(t *testing.T) {
	t.Parallel()
	j, _ := worked(t, waybill.Request{
		MaxFailures: waybill.Unlimited,
		Headers:     map[string]string{"traceparent": "00-aa-bb-01", "tracestate": "x=1"},
	}, "env", "--timeout", "1m")
	env := map[string]string{}
	for line := range strings.Lines(string(j.Result)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		env[name] = value
	}
	want := map[string]string{
		"WAYBILL_JOB_ID": "id", "WAYBILL_QUEUE": "q", "WAYBILL_KIND": "k", "WAYBILL_ATTEMPT": "1", "WAYBILL_TOKEN": j.Token,
		"WAYBILL_IDEMPOTENCY_KEY": "k/id", "WAYBILL_FAILURES": "0", "WAYBILL_MAX_FAILURES": "unlimited",
		"TRACEPARENT": "00-aa-bb-01", "TRACESTATE": "x=1", "PATH": os.Getenv("PATH"),
	}
	for name, value := range want {
		if env[name] != value {
			t.Errorf("%s is %q, want %q", name, env[name], value)
		}
	}
	if at, err := time.Parse(time.RFC3339, env["WAYBILL_DEADLINE"]); err != nil || time.Until(at) > time.Minute {
		t.Errorf("WAYBILL_DEADLINE is %q", env["WAYBILL_DEADLINE"])
	}
	if v, ok := env["WAYBILL_REDIS"]; ok {
		t.Errorf("the URL of Redis, with its password, reaches the command: %q", v)
	}
}

func TestExec_output(t *testing.T) {
	t.Parallel()
	const limit = 256 << 10
	write := func(n int) string { return "head -c " + strconv.Itoa(n) + " /dev/zero" }
	t.Run("a result at the limit is kept", func(t *testing.T) {
		t.Parallel()
		if j, _ := worked(t, waybill.Request{}, write(limit)); len(j.Result) != limit || j.ResultDropped {
			t.Errorf("%d bytes, dropped %v", len(j.Result), j.ResultDropped)
		}
	})
	t.Run("above the limit the job completes without it", func(t *testing.T) {
		t.Parallel()
		j, _ := worked(t, waybill.Request{}, write(10*limit))
		if j.State != waybill.StateCompleted || j.Result != nil || !j.ResultDropped {
			t.Errorf("%s, %d bytes, dropped %v", j.State, len(j.Result), j.ResultDropped)
		}
	})
	t.Run("stderr passes through, its last 4 KiB are the error", func(t *testing.T) {
		t.Parallel()
		j, got := worked(t, waybill.Request{}, "echo first >&2; head -c 5000 /dev/zero | tr '\\0' x >&2; echo last >&2; exit 1")
		if !strings.Contains(got.err, "first\nxxx") || !strings.Contains(got.err, "xxxlast\n") {
			t.Errorf("stderr: %d bytes", len(got.err))
		}
		if m := j.Errors[0].Message; len(m) > 4<<10 || !strings.HasSuffix(m, "xxxlast") || strings.Contains(m, "first") {
			t.Errorf("message: %d bytes, %q…", len(m), m[:20])
		}
	})
	t.Run("a command need not read its payload", func(t *testing.T) {
		t.Parallel()
		big := []byte(strings.Repeat("x", limit))
		if j, _ := worked(t, waybill.Request{Payload: big}, "exec true"); j.State != waybill.StateCompleted {
			t.Errorf("job is %s: %+v", j.State, j.Errors)
		}
	})
}

// gone waits until a process has ended; one that nobody reaped has ended too.
func gone(t *testing.T, pidFile string) {
	t.Helper()
	raw, err := os.ReadFile(pidFile)
	must(t, err)
	pid := strings.TrimSpace(string(raw))
	deadline := time.After(10 * time.Second)
	for {
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("process %s is still there: %s", pid, stat)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestExec_group(t *testing.T) {
	t.Parallel()
	t.Run("what a command leaves running is killed, and holds up nothing", func(t *testing.T) {
		t.Parallel()
		pid := filepath.Join(t.TempDir(), "pid")
		j, _ := worked(t, waybill.Request{}, "sleep 60 & echo $! >"+pid+"; echo done")
		if j.State != waybill.StateCompleted || string(j.Result) != "done\n" || j.FinishedAt.Sub(j.StartedAt) > 10*time.Second {
			t.Errorf("%s after %v, result %q", j.State, j.FinishedAt.Sub(j.StartedAt), j.Result)
		}
		gone(t, pid)
	})
	t.Run("one that left the group and holds stdout holds it up for a second", func(t *testing.T) {
		t.Parallel()
		pid := filepath.Join(t.TempDir(), "pid")
		j, _ := worked(t, waybill.Request{}, "setsid sh -c 'echo $$ >"+pid+"; exec sleep 60' & while [ ! -s "+pid+" ]; do :; done; echo done")
		if took := j.FinishedAt.Sub(j.StartedAt); j.State != waybill.StateCompleted || string(j.Result) != "done\n" || took > 20*time.Second {
			t.Errorf("%s after %v, result %q", j.State, took, j.Result)
		}
		raw, err := os.ReadFile(pid)
		must(t, err)
		n, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		must(t, err)
		must(t, syscall.Kill(n, syscall.SIGKILL))
	})
	t.Run("a timeout ends the whole group, first by SIGTERM", func(t *testing.T) {
		t.Parallel()
		pid := filepath.Join(t.TempDir(), "pid")
		script := "sh -c 'trap \"echo bye >&2; exit\" TERM; sleep 60 & wait' & echo $! >" + pid + "; wait"
		j, got := worked(t, waybill.Request{}, script, "--timeout", "2s", "--max-failures", "1")
		if j.State != waybill.StateDead || j.Errors[0].Type != "timeout" || !strings.Contains(got.err, "bye\n") {
			t.Errorf("%s, %+v, stderr %s", j.State, j.Errors, got.err)
		}
		gone(t, pid)
	})
	t.Run("who does not listen to SIGTERM is killed 5 s later", func(t *testing.T) {
		t.Parallel()
		pid := filepath.Join(t.TempDir(), "pid")
		script := "trap '' TERM; sleep 60 & echo $! >" + pid + "; wait; sleep 60"
		j, _ := worked(t, waybill.Request{}, script, "--timeout", "2s", "--max-failures", "1")
		took := j.FinishedAt.Sub(j.StartedAt)
		if j.State != waybill.StateDead || took < 5*time.Second || j.Errors[0].Message != "attempt timed out: signal: killed" {
			t.Errorf("%s, %+v, %v", j.State, j.Errors, took)
		}
		gone(t, pid)
	})
}

func TestExec_noLongerWanted(t *testing.T) {
	t.Parallel()
	// wait makes the command tell that it runs, and run on.
	start := func(t *testing.T, script string) (*redistest.Server, *waybill.Client, string, <-chan ran) {
		s := redistest.Start(t)
		c := client(t, s)
		send(t, c, waybill.Request{Queue: "q", Kind: "k", ID: "id", Retention: time.Hour})
		pid := filepath.Join(t.TempDir(), "pid")
		ended := make(chan ran, 1)
		go func() {
			ended <- waybillOn(t, s, "", "work", "--queue", "q", "--lease", "300ms", "--until-empty", "--exec",
				"sh", "-c", "echo $$ >"+pid+"; "+script)
		}()
		for raw := []byte(nil); len(raw) == 0; raw, _ = os.ReadFile(pid) {
			select {
			case got := <-ended:
				t.Fatalf("worker ended: %s", got.err)
			case <-time.After(time.Millisecond):
			}
		}
		return s, c, pid, ended
	}
	t.Run("a lost lease ends the command", func(t *testing.T) {
		t.Parallel()
		_, c, pid, ended := start(t, "exec sleep 60")
		must(t, c.Queue("q").Delete(t.Context(), "id", waybill.DeleteOptions{Force: true}))
		if got := <-ended; got.status != 0 || !strings.Contains(got.err, "lease lost") {
			t.Errorf("status %d: %s", got.status, got.err)
		}
		gone(t, pid)
		if j := job(t, c, "id"); j.State != waybill.StateDeleted {
			t.Errorf("job is %s", j.State)
		}
	})
	t.Run("a cancelled job's command is ended, and counts no failure", func(t *testing.T) {
		t.Parallel()
		_, c, pid, ended := start(t, "exec sleep 60")
		must(t, c.Queue("q").Cancel(t.Context(), "id", "not needed"))
		<-ended
		gone(t, pid)
		if j := job(t, c, "id"); j.State != waybill.StateCancelled || j.Failures != 0 || j.Reason != "not needed" {
			t.Errorf("job is %s, %d failures, reason %q", j.State, j.Failures, j.Reason)
		}
	})
	t.Run("what a cancelled job's command finishes counts", func(t *testing.T) {
		t.Parallel()
		_, c, _, ended := start(t, "trap 'echo saved; exit 0' TERM; sleep 60 & wait")
		must(t, c.Queue("q").Cancel(t.Context(), "id", "not needed"))
		<-ended
		if j := job(t, c, "id"); j.State != waybill.StateCompleted || string(j.Result) != "saved\n" {
			t.Errorf("job is %s, result %q", j.State, j.Result)
		}
	})
}

func TestJSON_everyLineIsOneObject(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	got := waybillOn(t, s, "a<b\nc&d\n\xff\n", "enqueue", "q", "k", "--lines", "--id", "x", "--json")
	for _, id := range []string{"x/1", "x/2", "x/3"} {
		got.out += waybillOn(t, s, "", "job", "get", "q", id, "--json").out
	}
	n := 0
	for line := range strings.Lines(got.out) {
		n++
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	if n != 6 || !strings.Contains(got.out, `"payload_base64":"/w=="`) {
		t.Errorf("%d lines: %s", n, got.out)
	}
}
