package process_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

// run runs the program and gives its exit status.
func (s *scene) run(args ...string) (stdout string, status int) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "WAYBILL_REDIS="+s.server.URL())
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// done runs the program and expects that it succeeds.
func (s *scene) done(args ...string) {
	s.t.Helper()
	if out, status := s.run(args...); status != 0 {
		s.t.Errorf("%q ended with status %d: %s", args, status, out)
	}
}

// ask enqueues a job with a long hold: it is due in ten days, and kept for ten more.
func (s *scene) ask(id, payload string) string {
	s.t.Helper()
	out, _ := s.run("enqueue", queue, "k", payload, "--id", id, "--in", "240h", "--retention", "240h", "--max-failures", "1", "--json")
	var said struct{ Outcome string }
	must(s.t, json.Unmarshal([]byte(out), &said))
	return said.Outcome
}

// dies lets a worker fail a job for good.
func (s *scene) dies(id string) {
	s.t.Helper()
	s.done("job", "promote", queue, id)
	s.done("work", "--queue", queue, "--until-empty", "--log-level", "error", "--exec", "false")
	if j := s.job(id); j.State != waybill.StateDead {
		s.t.Fatalf("%s is %s", id, j.State)
	}
}

// TestG15_uniqueJobDeletedOrDead: jobs with given IDs and a long hold are deleted singly, by IDs, by a filter and by a
// purge, or die. By the rule that the manual states a new one is taken at once where the old one is forgotten, with any
// payload; where it is remembered the ID is free when it is told to be forgotten, or when the window is over.
func TestG15_uniqueJobDeletedOrDead(t *testing.T) {
	t.Parallel()
	type command = []string
	for _, c := range []struct {
		end    string
		dies   bool
		free   []command // after it the IDs are known still
		forget []command // and after this no longer
	}{
		{"deleted singly", false, nil, []command{{"job", "delete", queue, "a", "--forget"}, {"job", "delete", queue, "b", "--forget"}}},
		{
			"deleted singly and remembered", false,
			[]command{{"job", "delete", queue, "a"}, {"job", "delete", queue, "b"}},
			[]command{{"job", "delete", queue, "a", "b", "--forget"}},
		},
		{"deleted by a filter", false, nil, []command{{"job", "delete", queue, "--kind", "k", "--forget", "--yes"}}},
		{
			"deleted by a filter and remembered", false,
			[]command{{"job", "delete", queue, "--kind", "k", "--yes"}},
			[]command{{"job", "delete", queue, "a", "b", "--forget"}},
		},
		{
			"purged", false,
			[]command{{"queue", "purge", queue, "--state", "scheduled", "--yes"}},
			[]command{{"job", "delete", queue, "a", "b", "--forget"}},
		},
		{"cancelled", false, []command{{"job", "cancel", queue, "a", "b"}}, []command{{"job", "delete", queue, "a", "b", "--forget"}}},
		{"dead", true, nil, []command{{"job", "delete", queue, "--state", "dead", "--forget", "--yes"}}},
		{
			"dead and purged", true,
			[]command{{"queue", "purge", queue, "--state", "dead", "--yes"}},
			[]command{{"job", "delete", queue, "a", "b", "--forget"}},
		},
	} {
		t.Run(c.end, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			known := func(when string) {
				for _, id := range []string{"a", "b"} {
					if same, other := s.ask(id, "1"), s.ask(id, "2"); same != "duplicate" || other != "conflict" {
						t.Errorf("%s, %s is told %s, and %s with another payload", when, id, same, other)
					}
				}
			}
			for _, id := range []string{"a", "b"} {
				if got := s.ask(id, "1"); got != "accepted" {
					t.Fatalf("%s is told %s", id, got)
				}
				if c.dies {
					s.dies(id)
				}
			}
			known("at first")
			for _, command := range c.free {
				s.done(command...)
				known("remembered")
			}
			for _, command := range c.forget {
				s.done(command...)
			}
			for _, id := range []string{"a", "b"} {
				if got := s.ask(id, "new"); got != "accepted" {
					t.Errorf("forgotten, %s is told %s", id, got)
				}
				s.done("job", "promote", queue, id)
			}
			s.done("work", "--queue", queue, "--until-empty", "--exec", "cat")
			for _, id := range []string{"a", "b"} {
				if j := s.job(id); j.State != waybill.StateCompleted || string(j.Result) != "new" || j.Failures != 0 {
					t.Errorf("the new %s is %s with result %q", id, j.State, j.Result)
				}
			}
		})
	}
}

// TestG15_windowIsOver: the ID of a deleted job is taken anew once the window is over, and not before.
func TestG15_windowIsOver(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const window = 2 * time.Second
	s.done("queue", "set", queue, "--window-named", window.String())
	s.work("--exec", "true") // workers turn the window
	s.ask("a", "1")
	before := s.stats().Now
	s.done("job", "delete", queue, "a")
	until(t, "the ID is new", func() bool {
		told := s.ask("a", "1")
		if told == "accepted" {
			return true
		}
		if told != "duplicate" {
			t.Fatalf("told %s", told)
		}
		return false
	})
	if took := s.stats().Now.Sub(before); took < window {
		t.Errorf("the ID was new after %s, the window is %s", took, window)
	}
}
