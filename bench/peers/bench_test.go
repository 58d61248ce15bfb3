package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/devredis"
)

// TestBench makes every measurement once, small. Each fails where its account does not add up.
func TestBench(t *testing.T) {
	if _, ok := devredis.Find(); !ok {
		if os.Getenv("CI") != "" {
			t.Fatal("no redis-server on the PATH")
		}
		t.Skip("NO redis-server on the PATH: nothing was measured")
	}
	for _, m := range plan() {
		t.Run(m.name, func(t *testing.T) {
			s := settings{jobs: 60, runs: 1, only: []string{m.name}, json: true, idle: 100 * time.Millisecond}
			var out bytes.Buffer
			if err := bench(t.Context(), s, &out, io.Discard); err != nil {
				t.Fatal(err)
			}
			trials := read(t, out.String(), m.name)
			if len(trials) != len(m.systems) {
				t.Errorf("%d trials of %d systems", len(trials), len(m.systems))
			}
			for _, got := range trials {
				if want := m.jobs(s.jobs); m.name != idleWorker && got.Jobs != want {
					t.Errorf("%s: %d jobs, want %d", got.System, got.Jobs, want)
				}
				if got.Seconds <= 0 {
					t.Errorf("%s took %v s", got.System, got.Seconds)
				}
			}
			if !strings.Contains(out.String(), m.name) {
				t.Errorf("the tables do not tell of it:\n%s", &out)
			}
		})
	}
}

// read takes the trials of one measurement from the lines of JSON.
func read(t *testing.T, out, measure string) []trial {
	t.Helper()
	var trials []trial
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var got trial
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got.Measure == measure {
			trials = append(trials, got)
		}
	}
	return trials
}

func TestAccount(t *testing.T) {
	t.Run("adds up when every job ran once", func(t *testing.T) {
		a := newAccount(2)
		a.handle(a.payload(1))
		a.handle(a.payload(0))
		if err := a.check(); err != nil {
			t.Error(err)
		}
		<-a.done
	})
	for name, ran := range map[string][]int{
		"tells of a job that did not run": {0},
		"tells of a job that ran twice":   {0, 1, 1},
		"tells of a job that is not ours": {0, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(2)
			for _, i := range ran {
				a.handle(a.payload(i))
			}
			if err := a.check(); !errors.Is(err, errAccount) {
				t.Errorf("%v, want %v", err, errAccount)
			}
		})
	}
	t.Run("tells of a payload of another size", func(t *testing.T) {
		a := newAccount(1)
		a.handle(a.payload(0))
		a.handle(a.payload(0)[1:])
		if err := a.check(); !errors.Is(err, errAccount) {
			t.Errorf("%v, want %v", err, errAccount)
		}
	})
}

func TestResults(t *testing.T) {
	all := []trial{
		{Measure: drainAll, System: sysAsynq, Run: 1, Rate: 10},
		{Measure: drainAll, System: sysAsynq, Run: 1, Rate: 20},
		{Measure: drainAll, System: sysWaybill, Run: 1, Rate: 40},
		{Measure: wholeCycle, System: sysWaybill, Run: 1, Rate: 7},
		{Measure: drainAll, System: sysWaybill, Run: 2, Rate: 90},
		{Measure: drainAll, System: sysAsynq, Run: 2, Rate: 30},
		{Measure: drainAll, System: sysAsynq, Run: 2, Rate: 5},
	}
	r := resultsOf(all, drainAll)
	t.Run("a system that took part twice is told by its best", func(t *testing.T) {
		if got, want := r.of(sysAsynq, func(t trial) float64 { return t.Rate }), (spread{20, 25, 30}); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	})
	t.Run("ratios are taken within a repetition", func(t *testing.T) {
		if got, want := r.ratio(sysWaybill, sysAsynq), (spread{2, 2.5, 3}); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	})
	t.Run("a miss is told", func(t *testing.T) {
		var out strings.Builder
		if err := writeTargets(&out, all); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "target missed  drain by asynq: 2.50 (2.00 to 3.00) times, at least 12.0") {
			t.Errorf("%s", &out)
		}
	})
}

func TestQuantiles(t *testing.T) {
	var d []time.Duration
	for i := range 200 {
		d = append(d, time.Duration(200-i)*time.Millisecond)
	}
	if got, want := *quantilesOf(d), (quantiles{100, 198, 200}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestCounter(t *testing.T) {
	c := newCounter()
	src := "-- head.lua is common\nlocal a\n-- claim.lua claims\nreturn 1\n"
	c.learn(src)
	for sha, verb := range c.verbs {
		c.calls[sha] = 3
		if verb != verbClaim {
			t.Errorf("the script is called %q, want the last of its files, %q", verb, verbClaim)
		}
	}
	if verbs, _ := c.read(); verbs[verbClaim] != 3 {
		t.Errorf("calls %v", verbs)
	}
}
