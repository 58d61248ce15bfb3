package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

// language is one that the examples have a worker in.
type language struct {
	program string
	example []string // the flags that work it off
	exec    []string // a command that reads its job, takes 20 ms and echoes it
}

var languages = map[string]language{
	"Python": {
		"python3",
		[]string{"--pipe", "python3", example("worker.py")},
		[]string{"python3", "-c", "import sys, time; p = sys.stdin.read(); time.sleep(0.02); sys.stdout.write(p)"},
	},
	"Node": {
		"node",
		[]string{"--pipe", "node", example("worker.js")},
		[]string{"node", "-e", "const p = require('fs').readFileSync(0); setTimeout(() => process.stdout.write(p), 20)"},
	},
	"Ruby":  {"ruby", []string{"--pipe", "ruby", example("worker.rb")}, []string{"ruby", "-e", "p = STDIN.read; sleep 0.02; print p"}},
	"shell": {"sh", []string{"--exec", "sh", example("worker.sh")}, []string{"sh", "-c", "p=$(cat); sleep 0.02; printf %s $p"}},
}

func example(name string) string { return filepath.Join("..", "..", "examples", "workers", name) }

// need skips a test whose language is not on this machine. In CI only Ruby may be missing: where it can't be installed
// scripts/install-languages.sh says so.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("no %s: it is needed here", program)
	}
	t.Skipf("NO %s: workers in its language were NOT tested", program)
}

// TestExamples runs each file of examples/workers through the real program: a job that is done, and one that no retry
// mends.
func TestExamples(t *testing.T) {
	t.Parallel()
	for name, l := range languages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need(t, l.program)
			s := newScene(t)
			s.send("good", payload(`{"to": "ann@example.com"}`)) // as some languages space it
			s.send("bytes", payload("\xff\xfe"))
			s.send("bad", payload(`{"from":"ann@example.com"}`))
			w := s.work(append([]string{"--until-empty"}, l.example...)...)
			<-w.ended
			s.settled()
			if j := s.job("good"); j.State != waybill.StateCompleted || compact(j.Result) != `{"sent":"ann@example.com","attempt":1}` {
				t.Errorf("the good one is %s, result %s", j.State, j.Result)
			}
			for _, id := range []string{"bad", "bytes"} {
				if j := s.job(id); j.State != waybill.StateDead || j.Attempt != 1 || j.Failures != 1 {
					t.Errorf("%s is %s after %d attempts: %+v", id, j.State, j.Attempt, j.Errors)
				}
			}
		})
	}
}

// python is the interpreter itself: what stands on the PATH may be a script that looks for it, and takes longer than
// that does.
func python(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "python3", "-c", "import sys; print(sys.executable)").Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

func payload(text string) waybill.EnqueueOption {
	return func(r *waybill.Request) { r.Payload = []byte(text) }
}

func compact(b []byte) string { return strings.ReplaceAll(string(b), " ", "") }

// TestS1_languages is S1 for workers of other languages: 1,000 jobs by exec, shared among them, most in the shell, which starts
// quickest, and ten kills of the worker in mid-job; and 500 jobs by pipe. All are done once, and only those were delivered
// again that a worker held when it was killed.
func TestS1_languages(t *testing.T) {
	t.Parallel()
	echo := func(name string) []string { return append([]string{"--exec"}, languages[name].exec...) }
	for name, tc := range map[string]struct {
		program     string
		jobs, kills int
		args        []string
	}{
		"Python by exec": {"python3", 60, 2, echo("Python")},
		"Node by exec":   {"node", 60, 2, echo("Node")},
		"Ruby by exec":   {"ruby", 60, 2, echo("Ruby")},
		"shell by exec":  {"sh", 820, 4, echo("shell")},
		"Python by pipe": {"python3", 500, 4, []string{"--pipe", "python3", "-u", "-c", `
import json, sys, time
print('{"type":"ready"}')
for line in sys.stdin:
    job = json.loads(line)
    time.sleep(0.01)
    print(json.dumps({"type": "settle", "token": job["token"], "outcome": "ack", "result": json.loads(job["payload"])}))
`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need(t, tc.program)
			s := newScene(t)
			s.sendMany(tc.jobs)
			if tc.program == "python3" {
				tc.args[1] = python(t)
			}
			held := s.killInMidJob(tc.jobs, tc.kills, append([]string{"--lease", "2s", "--concurrency", "4"}, tc.args...))
			got := s.settled()
			if got.Completed != int64(tc.jobs) || got.Died+got.Failures+got.Stale != 0 {
				t.Errorf("%d completed, %d dead, %d failures, %d stale", got.Completed, got.Died, got.Failures, got.Stale)
			}
			again := 0
			for i := range tc.jobs {
				j := s.job(fmt.Sprint("job-", i))
				if j.State != waybill.StateCompleted || string(j.Result) != fmt.Sprint(i) || j.Attempt != 1+j.Crashes {
					t.Errorf("%s is %s after %d attempts, %d crashes, result %q", j.ID, j.State, j.Attempt, j.Crashes, j.Result)
				}
				if j.Attempt > 1 && !slices.Contains(held, j.ID) {
					t.Errorf("%s was delivered %d times, and no killed worker held it", j.ID, j.Attempt)
				}
				again += j.Attempt - 1
			}
			if int64(again) != got.Crashes || again != len(held) {
				t.Errorf("%d deliveries again, %d crashes, %d jobs held when a worker was killed", again, got.Crashes, len(held))
			}
			t.Logf("%d jobs, %d kills, %d deliveries again", tc.jobs, tc.kills, again)
		})
	}
}

func (s *scene) sendMany(jobs int) {
	s.t.Helper()
	requests := make([]waybill.Request, jobs)
	for i := range requests {
		requests[i] = waybill.Request{Queue: queue, Kind: "k", ID: fmt.Sprint("job-", i), Payload: fmt.Append(nil, i), Retention: time.Hour}
	}
	_, err := s.EnqueueMany(s.t.Context(), requests)
	must(s.t, err)
}

// killInMidJob works the jobs off with one worker after another: each but the last is killed when it holds some, spread
// over the whole. It gives the jobs that were held then, and ends when all are done.
func (s *scene) killInMidJob(jobs, kills int, args []string) (held []string) {
	s.t.Helper()
	w, seen := s.work(args...), map[string]bool{}
	for n := 1; n <= kills; n++ {
		s.await(func(now waybill.QueueStats) bool { return now.Completed >= int64(jobs*n/(kills+1)) && now.Active > 0 })
		w.signal(syscall.SIGSTOP)            // what it holds stays as it is now
		for _, attempt := range s.active() { // also those of the worker before, whose leases are not over
			if id, _, _ := strings.Cut(attempt, " "); !seen[attempt] {
				seen[attempt] = true
				held = append(held, id)
			}
		}
		w.kill()
		w = s.work(args...)
	}
	s.await(func(now waybill.QueueStats) bool { return now.Live() == 0 })
	w.stop()
	return held
}

// await waits until the queue stands so. There is no bound but that something is done within a minute: how long it all
// takes is the machine's affair. It looks seldom, as looking takes time from the workers.
func (s *scene) await(is func(waybill.QueueStats) bool) {
	s.t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	done, since := int64(-1), time.Now()
	for now := s.stats(); !is(now); now = s.stats() {
		if now.Completed > done {
			done, since = now.Completed, time.Now()
		}
		if time.Since(since) > time.Minute {
			s.t.Fatalf("nothing is done any more: %+v", now)
		}
		<-look.C
	}
}

// active are the jobs that workers hold, each as "ID token", one that was just stopped: what it had sent by then has arrived when two looks
// give the same.
func (s *scene) active() []string {
	s.t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for before := []string{"none yet"}; ; <-look.C {
		var now []string
		for j, err := range s.Queue(queue).Jobs(s.t.Context(), waybill.Filter{States: []waybill.State{waybill.StateActive}}) {
			must(s.t, err)
			now = append(now, j.ID+" "+j.Token)
		}
		slices.Sort(now)
		if slices.Equal(now, before) {
			return now
		}
		before = now
	}
}
