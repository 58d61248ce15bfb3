package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

// TestS1_workersKilledAllTheTime: 1,500 jobs, two workers, one of them killed every 0.7 s and
// replaced. All jobs are done, none is lost, none is dead, and only those were delivered again that
// a killed worker held.
func TestS1_workersKilledAllTheTime(t *testing.T) {
	t.Parallel()
	const jobs, slots = 1500, 4
	s := newScene(t)
	requests := make([]waybill.Request, jobs)
	for i := range requests {
		requests[i] = waybill.Request{Queue: queue, Kind: "k", ID: fmt.Sprint("job-", i), Retention: time.Hour}
	}
	allowed := int64(waybill.Unlimited) // kills are many, and may meet one job again and again
	must(t, s.Queue(queue).Set(t.Context(), waybill.QueueSettings{CrashAllowance: &allowed}))
	_, err := s.EnqueueMany(t.Context(), requests)
	must(t, err)
	start := func() *worker {
		return s.work("--lease", "2s", "--concurrency", fmt.Sprint(slots), "--exec", "sleep", "0.02")
	}
	workers := []*worker{start(), start()}
	kills := 0
	for ticker := time.NewTicker(700 * time.Millisecond); s.stats().Live() > 0; <-ticker.C {
		workers[kills%2].kill()
		workers[kills%2] = start()
		kills++
	}
	got := s.settled()
	if got.Completed != jobs || got.Died != 0 || got.Failures != 0 || got.Stale != 0 {
		t.Errorf("%d completed, %d dead, %d failures, %d stale", got.Completed, got.Died, got.Failures, got.Stale)
	}
	again := 0
	for i := range jobs {
		j := s.job(fmt.Sprint("job-", i))
		if j.State != waybill.StateCompleted || j.Attempt != 1+j.Crashes {
			t.Errorf("%s is %s after %d attempts, %d crashes", j.ID, j.State, j.Attempt, j.Crashes)
		}
		again += j.Attempt - 1
	}
	t.Logf("%d jobs, %d kills, %d deliveries again", jobs, kills, again)
	// A worker holds what runs, and what has ended and is not settled yet.
	if int64(again) != got.Crashes || again > kills*2*slots || kills < 3 {
		t.Errorf("%d kills, %d deliveries again, %d crashes", kills, again, got.Crashes)
	}
	for _, w := range workers {
		w.stop()
	}
}

// script is a command that writes a line into the file "begun", and ends when a file "go-WORKER"
// or "go" is there.
func script(dir, name string) []string {
	return []string{"--exec", "sh", "-c", fmt.Sprintf(
		"cd %s; echo %s >>begun; while [ ! -e go ] && [ ! -e go-%s ]; do sleep 0.02; done; printf %s", dir, name, name, name,
	)}
}

func touch(t *testing.T, dir, name string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
}

// begun is how often commands began.
func begun(dir string) int {
	raw, _ := os.ReadFile(filepath.Join(dir, "begun"))
	return strings.Count(string(raw), "\n")
}

// TestR1_frozenWorkerIsStale: a worker is stopped past its lease while another one finishes the job.
// When it goes on its end is refused, and the other's result stands.
func TestR1_frozenWorkerIsStale(t *testing.T) {
	t.Parallel()
	s, dir := newScene(t), t.TempDir()
	s.send("id")
	a := s.work(append([]string{"--lease", "2s"}, script(dir, "a")...)...)
	until(t, "the first worker has the job", func() bool { return begun(dir) == 1 })
	first := s.job("id").Token
	a.signal(syscall.SIGSTOP)
	s.work(append([]string{"--lease", "2s"}, script(dir, "b")...)...)
	until(t, "the second worker has the job", func() bool { return begun(dir) == 2 })

	touch(t, dir, "go-a") // the first one's command ends, and its worker, frozen, can't know yet
	a.signal(syscall.SIGCONT)
	until(t, "the first one's end is refused", func() bool { return s.stats().Stale == 1 })
	if j := s.job("id"); j.State != waybill.StateActive || j.Token == first {
		t.Errorf("after it, the job is %s with token %s, at first %s", j.State, j.Token, first)
	}
	touch(t, dir, "go-b")
	got := s.settled()
	j := s.job("id")
	if string(j.Result) != "b" || j.State != waybill.StateCompleted || j.Attempt != 2 || j.Crashes != 1 || j.Failures != 0 {
		t.Errorf("%s after %d attempts, %d crashes, %d failures, result %q", j.State, j.Attempt, j.Crashes, j.Failures, j.Result)
	}
	if got.Stale != 1 || got.Completed != 1 {
		t.Errorf("%d stale, %d completed", got.Stale, got.Completed)
	}
	a.stop()
	if !strings.Contains(a.stderr.String(), "stale") {
		t.Error("the first worker does not tell of it")
	}
}

// TestR1_everyWordOfAFrozenWorkerIsStale: whatever the frozen worker has to say when it goes on, another end or progress and
// an end, is refused while the other one runs the job, and changes nothing.
func TestR1_everyWordOfAFrozenWorkerIsStale(t *testing.T) {
	t.Parallel()
	const settle = `,"token":"'$token'"}'`
	for word, says := range map[string]string{
		"retry":        `printf '{"type":"settle","outcome":"retry","error":"no"` + settle,
		"snooze":       `printf '{"type":"settle","outcome":"snooze","delay_ms":1` + settle,
		"dead":         `printf '{"type":"settle","outcome":"dead","error":"no"` + settle,
		"cancel":       `printf '{"type":"settle","outcome":"cancel","error":"no"` + settle,
		"progress, ok": `printf '{"type":"progress","percent":99` + settle + `; echo; printf '{"type":"settle","outcome":"ack","result":"a"` + settle,
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			s, dir := newScene(t), t.TempDir()
			s.send("id")
			a := s.work("--lease", "2s", "--concurrency", "1", "--pipe", "sh", "-c", fmt.Sprintf(`cd %s; echo '{"type":"ready"}'
				while read -r line; do token=${line#*'"token":"'}; token=${token%%%%'"'*}; echo a >>begun
				while [ ! -e go-a ]; do sleep 0.02; done; %s; echo; : >said; done`, dir, says))
			until(t, "the first worker has the job", func() bool { return begun(dir) == 1 })
			a.signal(syscall.SIGSTOP)
			s.work(append([]string{"--lease", "2s"}, script(dir, "b")...)...)
			until(t, "the second worker has the job", func() bool { return begun(dir) == 2 })
			touch(t, dir, "go-a")
			until(t, "the first one's child has said its word", func() bool {
				_, err := os.Stat(filepath.Join(dir, "said"))
				return err == nil
			})
			before := s.job("id")
			a.signal(syscall.SIGCONT)
			until(t, "it is refused", func() bool { return s.stats().Stale >= 1 })
			j := s.job("id")
			if j.State != waybill.StateActive || j.Token != before.Token || j.Attempt != 2 || j.Progress != nil || j.Failures+j.Snoozes != 0 {
				t.Errorf("after it, the job is %+v; it was %+v", j, before)
			}
			touch(t, dir, "go-b")
			got := s.settled()
			if j := s.job("id"); string(j.Result) != "b" || j.State != waybill.StateCompleted || j.Attempt != 2 || len(j.Errors) != 1 {
				t.Errorf("at the end the job is %+v", j)
			}
			if got.Completed != 1 || got.Died+got.Cancelled+got.Failures+got.Snoozes != 0 || got.Crashes != 1 {
				t.Errorf("at the end the counts are %+v", got)
			}
		})
	}
}

// TestR1_frozenWorkerComesLate: the same, but the other worker has finished when it goes on.
func TestR1_frozenWorkerComesLate(t *testing.T) {
	t.Parallel()
	s, dir := newScene(t), t.TempDir()
	s.send("id")
	a := s.work(append([]string{"--lease", "2s"}, script(dir, "a")...)...)
	until(t, "the first worker has the job", func() bool { return begun(dir) == 1 })
	a.signal(syscall.SIGSTOP)
	touch(t, dir, "go-b")
	s.work(append([]string{"--lease", "2s"}, script(dir, "b")...)...)
	s.settled()
	touch(t, dir, "go-a")
	a.signal(syscall.SIGCONT)
	until(t, "the first one's end is refused", func() bool { return s.stats().Stale == 1 })
	if j := s.job("id"); string(j.Result) != "b" || j.State != waybill.StateCompleted || j.Attempt != 2 {
		t.Errorf("%s after %d attempts, result %q", j.State, j.Attempt, j.Result)
	}
	a.stop()
}

// TestG1_killedWorker: a long job's worker is killed. A second worker starts the job once, within
// lease and bell, and the attempt that died is on record.
func TestG1_killedWorker(t *testing.T) {
	t.Parallel()
	const lease, bound = time.Second, 2 * time.Second // the longest wait of an idle worker, and one for a slow machine
	soon(t, lease+bound, func() time.Duration { return killedWorker(t) })
}

// killedWorker gives how long the second worker took.
func killedWorker(t *testing.T) time.Duration {
	t.Helper()
	s, dir := newScene(t), t.TempDir()
	s.send("id")
	a := s.work(append([]string{"--lease", "1s"}, script(dir, "a")...)...)
	until(t, "the first worker has the job", func() bool { return begun(dir) == 1 })
	s.work(append([]string{"--lease", "1s"}, script(dir, "b")...)...)
	until(t, "the second worker is there", func() bool { return s.stats().Workers == 2 })
	dead := s.job("id").Worker
	killed := time.Now()
	a.kill()
	until(t, "the second worker has the job", func() bool { return begun(dir) == 2 })
	took := time.Since(killed)
	touch(t, dir, "go")
	got := s.settled()
	j := s.job("id")
	if j.State != waybill.StateCompleted || string(j.Result) != "b" || j.Attempt != 2 || got.Deliveries != 2 || begun(dir) != 2 {
		t.Errorf("%s after %d attempts, %d deliveries, result %q", j.State, j.Attempt, got.Deliveries, j.Result)
	}
	if len(j.Errors) != 1 || j.Errors[0].Type != "crash" || j.Errors[0].Attempt != 1 || j.Errors[0].Worker != dead {
		t.Errorf("the attempt that died is on record as %+v", j.Errors)
	}
	return took
}

// TestG7_crashIsNoFailure: a job that no failure is forgiven runs again when its worker is killed.
func TestG7_crashIsNoFailure(t *testing.T) {
	t.Parallel()
	s, dir := newScene(t), t.TempDir()
	s.send("id", waybill.MaxFailures(1))
	a := s.work(append([]string{"--lease", "2s"}, script(dir, "a")...)...)
	until(t, "the first worker has the job", func() bool { return begun(dir) == 1 })
	a.kill()
	touch(t, dir, "go")
	s.work(append([]string{"--lease", "2s"}, script(dir, "b")...)...)
	s.settled()
	if j := s.job("id"); j.State != waybill.StateCompleted || j.Failures != 0 || j.Crashes != 1 || j.Attempt != 2 {
		t.Errorf("%s, %d failures, %d crashes, %d attempts", j.State, j.Failures, j.Crashes, j.Attempt)
	}
}

// TestR15_poisonJob: a job kills its worker each time, and a supervisor starts a new one. After the
// crash allowance it is dead, with the count and the last worker; its neighbours finish.
func TestR15_poisonJob(t *testing.T) {
	t.Parallel()
	const allowance, neighbours = 3, 49
	s := newScene(t)
	forgiven := int64(allowance)
	must(t, s.Queue(queue).Set(t.Context(), waybill.QueueSettings{CrashAllowance: &forgiven}))
	s.send("poison")
	for i := range neighbours {
		s.send(fmt.Sprint("neighbour-", i))
	}
	start := func() *worker {
		return s.work("--lease", "1s", "--concurrency", "5", "--exec", "sh", "-c",
			`[ $WAYBILL_JOB_ID != poison ] || kill -KILL $PPID; sleep 0.05`)
	}
	workers, starts := []*worker{start(), start()}, 2
	until(t, "no job is live", func() bool {
		for i, w := range workers {
			select {
			case <-w.ended:
				workers[i] = start()
				starts++
			default:
			}
		}
		return s.stats().Live() == 0
	})
	got := s.settled()
	j := s.job("poison")
	if j.State != waybill.StateDead || j.Crashes != allowance+1 || j.Failures != 0 || j.Worker == "" {
		t.Errorf("poison is %s, %d crashes, %d failures, last worker %q", j.State, j.Crashes, j.Failures, j.Worker)
	}
	if n := len(j.Errors); n != allowance+1 || j.Errors[n-1].Type != "crash" || j.Errors[n-1].Worker != j.Worker {
		t.Errorf("errors: %+v", j.Errors)
	}
	if got.Completed != neighbours || got.Died != 1 || got.Failures != 0 {
		t.Errorf("%d completed, %d dead, %d failures", got.Completed, got.Died, got.Failures)
	}
	for i := range neighbours {
		if n := s.job(fmt.Sprint("neighbour-", i)); n.State != waybill.StateCompleted {
			t.Errorf("%s is %s: %+v; poison: %+v", n.ID, n.State, n.Errors, j.Errors)
		}
	}
	if killed := starts - 2; killed != allowance+1 {
		t.Errorf("%d workers were killed", killed)
	}
}
