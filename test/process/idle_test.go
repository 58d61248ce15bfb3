package process_test

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/redistest"
)

// TestG22_idleThenAway: an idle worker makes few calls and uses no CPU to speak of; neither does one whose Redis is gone
// for a minute, and it says so in a few lines. Then Redis is back, and jobs start at once.
func TestG22_idleThenAway(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("CPU time is read from /proc, which only Linux has")
	}
	const idle, away = 10 * time.Second, time.Minute
	s, dir := newScene(t, redistest.AOF(), redistest.Config("appendfsync", "always")), t.TempDir()
	w := s.work(append([]string{"--log-level", "info"}, script(dir, "w")...)...)
	touch(t, dir, "go")
	until(t, "the worker is there", func() bool { return s.stats().Workers == 1 })

	calls, cpu := s.calls(), w.cpu()
	time.Sleep(idle) // the length of the measurement
	perSecond := float64(s.calls()-calls-1) / idle.Seconds()
	t.Logf("idle: %.1f calls a second, %s CPU in %s", perSecond, w.cpu()-cpu, idle)
	if perSecond > 5 || w.cpu()-cpu > idle/50 {
		t.Errorf("%.1f calls a second, %s CPU", perSecond, w.cpu()-cpu)
	}

	s.server.Kill()
	cpu = w.cpu()
	time.Sleep(away) // the fault's length
	used := w.cpu() - cpu
	t.Logf("Redis gone: %s CPU in %s", used, away)
	if used > away/50 {
		t.Errorf("%s CPU while Redis was gone for %s", used, away)
	}
	s.server.Restart()
	took := make([]time.Duration, 20)
	for n := range took {
		sent := time.Now()
		s.send(fmt.Sprint("after-", n))
		until(t, "the job runs", func() bool { return begun(dir) == n+1 })
		took[n] = time.Since(sent)
	}
	t.Logf("jobs began after %s", took)
	if slices.Sort(took); took[len(took)/2] > 2*time.Second || took[len(took)-1] > 10*time.Second {
		t.Errorf("jobs began after %s", took)
	}
	s.settled()
	w.stop()
	lines := strings.Count(w.stderr.String(), "\n")
	t.Logf("the log has %d lines", lines)
	if lines > 20 {
		t.Errorf("the log has %d lines", lines)
	}
}

var evalCalls = regexp.MustCompile(`cmdstat_(?:evalsha|blpop):calls=(\d+)`)

// calls counts the calls that workers and clients made.
func (s *scene) calls() (n int) {
	s.t.Helper()
	info, err := s.server.Client().Info(s.t.Context(), "commandstats").Result()
	must(s.t, err)
	for _, m := range evalCalls.FindAllStringSubmatch(info, -1) {
		calls, err := strconv.Atoi(m[1])
		must(s.t, err)
		n += calls
	}
	return n
}

// cpu is the CPU time of the worker so far, in steps of 10 ms.
func (w *worker) cpu() time.Duration {
	w.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.cmd.Process.Pid))
	must(w.t, err)
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest) // from the third on, see proc(5)
	ticks := 0
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(f)
		must(w.t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
