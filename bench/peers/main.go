package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// settings are the flags.
type settings struct {
	jobs, runs    int
	only, systems []string // nil = all
	json          bool
	idle          time.Duration
	profile       profiles
}

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = bench(ctx, s, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		return 1
	}
	return 0
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.IntVar(&s.jobs, "n", 100_000, "jobs a trial; slow measurements get fewer")
	flags.IntVar(&s.runs, "runs", 3, "repetitions")
	flags.BoolVar(&s.json, "json", false, "print each trial as a line of JSON, before the tables")
	flags.DurationVar(&s.idle, "idle", 5*time.Second, "how long an idle worker is watched")
	flags.StringVar(&s.profile.cpu, "cpuprofile", "", "write a CPU profile of the last trial's measured part to `file`")
	flags.StringVar(&s.profile.mem, "memprofile", "", "write a profile of all allocations so far, after each trial, to `file`")
	only := flags.String("only", "", "`names` of measurements, with commas")
	systems := flags.String("systems", "", "`names` of systems, with commas: waybill, asynq, bare")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.jobs < 1 || s.runs < 1 {
		return s, fmt.Errorf("-n %d -runs %d: at least 1", s.jobs, s.runs)
	}
	s.only, s.systems = list(*only), list(*systems)
	for _, name := range s.only {
		if !slices.ContainsFunc(plan(), func(m measurement) bool { return m.name == name }) {
			return s, fmt.Errorf("-only %s: no such measurement", name)
		}
	}
	for _, name := range s.systems {
		if !slices.Contains([]string{sysWaybill, sysAsynq, sysBare}, name) {
			return s, fmt.Errorf("-systems %s: no such system", name)
		}
	}
	return s, nil
}

func list(flag string) []string {
	if flag == "" {
		return nil
	}
	return strings.Split(flag, ",")
}

// chosen are the measurements and systems that the flags ask for.
func (s settings) chosen() []measurement {
	var out []measurement
	for _, m := range plan() {
		if s.only != nil && !slices.Contains(s.only, m.name) {
			continue
		}
		m.systems = slices.DeleteFunc(slices.Clone(m.systems), func(y system) bool {
			name, _, _ := strings.Cut(y.name, ",")
			return s.systems != nil && !slices.Contains(s.systems, name)
		})
		out = append(out, m)
	}
	return out
}

// bench measures everything and prints it: JSON lines as they come if asked for, tables at the
// end, and meanwhile a word about progress.
func bench(ctx context.Context, s settings, w, progress io.Writer) error {
	host, err := describe(ctx)
	if err != nil {
		return err
	}
	raw := json.NewEncoder(io.Discard)
	if s.json {
		raw = json.NewEncoder(w)
	}
	if err := raw.Encode(host); err != nil {
		return err
	}
	var all []trial
	for run := range s.runs {
		for _, m := range s.chosen() {
			fmt.Fprintf(progress, "run %d of %d: %s\n", run+1, s.runs, m.name)
			trials, err := s.round(ctx, m, run)
			if err != nil {
				return err
			}
			all = append(all, trials...)
			for i := range trials {
				if err := raw.Encode(trials[i]); err != nil {
					return err
				}
			}
		}
	}
	return write(w, host, s, all)
}

// round makes one measurement of each system, once. The systems begin in turn.
func (s settings) round(ctx context.Context, m measurement, run int) ([]trial, error) {
	var out []trial
	for i := range m.systems {
		sys := m.systems[(i+run)%len(m.systems)]
		t, err := s.onStage(ctx, m, sys)
		if err != nil {
			return nil, err
		}
		t.Run = run + 1
		out = append(out, t)
	}
	return out, nil
}
