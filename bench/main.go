package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
)

// Shares of the jobs, so that every part of the run takes its time and no more.
const (
	stepShare  = 16 // of each of the steps: they are many
	smallShare = 10 // in batches below 100
	leastShare = 50 // in batches below 10
)

// settings are the flags.
type settings struct {
	jobs, rounds int
	batches      []int
	steps        bool
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
		err = bench(ctx, s, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&s.jobs, "n", 100_000, "jobs a round in batches of 100; smaller batches get fewer")
	flags.IntVar(&s.rounds, "rounds", 5, "rounds of each layout")
	flags.BoolVar(&s.steps, "steps", true, "measure what each part of the scripts costs")
	batches := flags.String("batch", "100,10,1", "jobs a call")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	for _, b := range strings.Split(*batches, ",") {
		n, err := strconv.Atoi(b)
		if err != nil || n < 1 || n > block {
			return s, fmt.Errorf("-batch %q: numbers from 1 to %d, with commas", *batches, block)
		}
		s.batches = append(s.batches, n)
	}
	if s.jobs < 1 || s.rounds < 1 {
		return s, fmt.Errorf("-n %d -rounds %d: at least 1", s.jobs, s.rounds)
	}
	return s, nil
}

// bench measures, and prints each part when it is done.
func bench(ctx context.Context, s settings, w io.Writer) error {
	if err := writeMachine(ctx, w); err != nil {
		return err
	}
	var all []figure
	for _, batch := range s.batches {
		figures, err := compared(ctx, loadOf(s.jobs, batch), s.rounds)
		if err != nil {
			return err
		}
		if err := writeJSON(w, figures); err != nil {
			return err
		}
		all = append(all, figures...)
	}
	if s.steps {
		figures, err := stepped(ctx, loadOf(s.jobs/stepShare, s.batches[0]), s.rounds)
		if err != nil {
			return err
		}
		if err := writeJSON(w, figures); err != nil {
			return err
		}
		if err := writeSteps(w, figures); err != nil {
			return err
		}
	}
	if err := writeTable(w, all); err != nil {
		return err
	}
	return writeTargets(w, all)
}

// loadOf cuts the number of jobs to whole blocks, and to fewer where a job costs more.
func loadOf(jobs, batch int) load {
	switch {
	case batch < 10:
		jobs /= leastShare
	case batch < 100:
		jobs /= smallShare
	}
	return load{jobs: max(1, jobs/block) * block, batch: batch}
}

// compared measures the store beside the bare layout.
func compared(ctx context.Context, l load, rounds int) ([]figure, error) {
	var ours, theirs []result
	for range rounds {
		blocks, err := measure(ctx, l, []newSubject{newWaybill, newBare})
		if err != nil {
			return nil, err
		}
		ours, theirs = append(ours, mean(blocks[0])), append(theirs, mean(blocks[1]))
	}
	return compare(l, ours, theirs), nil
}

// stepped measures the store beside itself without each of its parts.
func stepped(ctx context.Context, l load, rounds int) ([]figure, error) {
	subjects := make([]newSubject, 1, 1+len(steps))
	subjects[0] = newWaybill
	for _, s := range steps {
		subjects = append(subjects, s.without())
	}
	results := make([][]result, len(subjects))
	for range rounds {
		blocks, err := measure(ctx, l, subjects)
		if err != nil {
			return nil, err
		}
		for i := range blocks {
			results[i] = append(results[i], blocks[i]...)
		}
	}
	var out []figure
	for i, s := range steps {
		out = append(out, stepFigures(l, rounds, s.name, results[0], results[i+1])...)
	}
	return out, nil
}
