package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	main "github.com/waybillhq/waybill/cmd/waybill"
	"github.com/waybillhq/waybill/cmd/waybill/internal/demo"
	"github.com/waybillhq/waybill/internal/redistest"
)

// nothingLeft looks for files, and for the processes that a story names.
func nothingLeft(t *testing.T, tmp, story string) {
	t.Helper()
	left, err := os.ReadDir(tmp)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("it leaves %s behind", left[0].Name())
	}
	for _, m := range regexp.MustCompile(`process (\d+)`).FindAllStringSubmatch(story, -1) {
		pid, err := strconv.Atoi(m[1])
		must(t, err)
		if runs(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
}

// runs tells whether a process is there, and is more than an entry that its parent has yet to read.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil && strings.Contains(string(stat), ") Z ") {
		return false
	}
	return syscall.Kill(pid, 0) == nil
}

// demoEnds waits for a demo's end: it bounds itself to a minute.
func demoEnds(t *testing.T, p *process) {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(90 * time.Second):
		t.Fatal("the demo does not end")
	}
	if got := p.status(); got != 0 {
		t.Fatalf("status %d", got)
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	redistest.Binary(t)
	t.Run("gives its account as one object, also where no Redis is installed", func(t *testing.T) {
		t.Parallel()
		tmp := t.TempDir()
		p := launch(t, []string{"TMPDIR=" + tmp, "PATH=" + t.TempDir(), "HOME=/nonexistent"}, "demo", "--json", "--seed", "7")
		demoEnds(t, p)
		if strings.Count(p.stdout(), "\n") != 1 || p.stderr() != "" {
			t.Error("there is more than one line")
		}
		var a struct {
			Right bool
			Seed  int
			Kills []demo.Kill
			Queue map[string]any
			Lost  []string
			Topic demo.TopicAccount
		}
		must(t, json.Unmarshal([]byte(p.stdout()), &a))
		if !a.Right || a.Seed != 7 || a.Lost == nil || a.Queue["accepted"] != 360.0 || len(a.Kills) != 3 {
			t.Errorf("account %+v", a)
		}
		for _, k := range a.Kills {
			if k.Attempt < 2 || k.Again == 0 || len(k.In) == 0 {
				t.Errorf("what %s held was not delivered again: %+v", k.Worker, k)
			}
		}
		if a.Topic.Published != 40 || len(a.Topic.Subscriptions) != 3 || a.Kills[0].Events == 0 {
			t.Errorf("topic %+v, %d events in hand", a.Topic, a.Kills[0].Events)
		}
		nothingLeft(t, tmp, "")
	})
	t.Run("tells an account that adds up, and keeps Redis on demand until it is stopped as told", func(t *testing.T) {
		t.Parallel()
		tmp := filepath.Join(t.TempDir(), "with space")
		must(t, os.Mkdir(tmp, 0o700))
		p := launch(t, []string{"TMPDIR=" + tmp}, "demo", "--keep")
		demoEnds(t, p)
		story := strings.Join(strings.Fields(p.stdout()), " ") // lines are wrapped
		for _, want := range []string{
			"360 accepted = 356 finished + 4 dead + 0 not ended, and 36 duplicates", "76 charges for 76 keys", "declined 4 payments (dead)",
			"100 at the mail server", "40 of 40 on disk", "60 results", "80 at the receiver", "Nothing lost, nothing done twice",
			"counts 40 events, and 4 duplicates", "38 invoices for 38 orders", "= 38 finished + 2 dead (declined for good: nothing to bill)", "40 mails by Message-ID",
		} {
			if !strings.Contains(story, want) {
				t.Errorf("it does not say %q", want)
			}
		}
		if kills, again := strings.Count(story, "gets SIGKILL"), strings.Count(story, "ended at attempt"); kills != 3 || again != 3 {
			t.Errorf("%d workers are killed, and %d of their jobs are told of", kills, again)
		}
		keptAsTold(t, p.stdout())
		nothingLeft(t, tmp, p.stdout())
	})
}

// keptAsTold runs the commands with which a story ends.
func keptAsTold(t *testing.T, story string) {
	t.Helper()
	var said []string
	for line := range strings.Lines(story) {
		if strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ") {
			said = append(said, strings.TrimSpace(line))
		}
	}
	if len(said) != 4 {
		t.Fatalf("commands: %q", said)
	}
	stop := said[3]
	said[0] = "waybill" + said[0][strings.Index(said[0], " queue"):] // the test's own program, found on the PATH
	said[1] = "waybill" + said[1][strings.Index(said[1], " job"):]
	for i, want := range []string{"4 dead", "state         completed", "picture-040.png"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", said[i]).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", said[i], err, out)
		}
	}
	must(t, exec.CommandContext(t.Context(), "sh", "-c", stop).Run())
	pid, err := strconv.Atoi(strings.TrimSuffix(strings.Fields(stop)[1], ";"))
	must(t, err)
	until(t, "Redis has ended", func() bool { return !runs(pid) })
}

func TestDemo_cutShort(t *testing.T) {
	t.Parallel()
	redistest.Binary(t)
	for _, flags := range [][]string{{"--in-memory"}, {"--keep"}} {
		t.Run("interrupted, it leaves nothing behind, "+flags[0], func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			p := launch(t, []string{"TMPDIR=" + tmp}, append([]string{"demo"}, flags...)...)
			until(t, "workers run", func() bool { return strings.Contains(p.stdout(), "worker-2 is process") })
			p.signal(os.Interrupt)
			if got := p.status(); got != 1 || !strings.HasPrefix(p.stderr(), "waybill: interrupted: ") {
				t.Errorf("status %d", got)
			}
			nothingLeft(t, tmp, p.stdout())
		})
	}
	t.Run("when nobody reads it any more, it leaves nothing behind", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS == "windows" {
			t.Skip("no SIGPIPE")
		}
		tmp := t.TempDir()
		cmd := exec.CommandContext(t.Context(), "waybill", "demo")
		cmd.Env = append(os.Environ(), "GORACE="+quickExit, "TMPDIR="+tmp)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		first, err := bufio.NewReader(out).ReadString('\n')
		must(t, err)
		must(t, out.Close())
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != 1 || !strings.Contains(errs.String(), "broken pipe") {
			t.Errorf("status %d, stderr %q", got, errs.String())
		}
		nothingLeft(t, tmp, first)
	})
	t.Run("without a place for files it says so", func(t *testing.T) {
		t.Parallel()
		p := launch(t, []string{"TMPDIR=/nonexistent"}, "demo")
		if got := p.status(); got != 1 || !strings.Contains(p.stderr(), "/nonexistent") {
			t.Errorf("status %d", got)
		}
	})
}

func TestDemo_wrong(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		var out, errs strings.Builder
		wrong := fmt.Errorf("%w: 1 job is lost", demo.ErrWrong)
		err := main.DemoEnds(asJSON, &out, demo.Account{Complaints: []string{"1 job is lost"}}, wrong)
		if got := main.End(err, asJSON, &out, &errs); got != 1 || errs.String() != "waybill: the account is wrong: 1 job is lost\n" {
			t.Errorf("a wrong account: status %d, stderr %q", got, errs.String())
		}
		if lines := strings.Count(out.String(), "\n"); asJSON != (lines == 1) || asJSON != strings.Contains(out.String(), `"right":false`) {
			t.Errorf("JSON %v: stdout %q", asJSON, out.String())
		}
	}
}
