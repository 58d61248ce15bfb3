package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
)

// demoWorkerCommand is the program of the demo's workers: what a user's worker looks like.
func (a *app) demoWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "demo-worker JOURNAL", Hidden: true, Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.demoWorker(ctx, args[0])
		},
	}
}

func (a *app) demoWorker(ctx context.Context, path string) error {
	c, err := a.connect(1)
	if err != nil {
		return err
	}
	defer c.Close()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := waybill.NewWorker(c.Client, waybill.WorkerOptions{
		Queues: []waybill.QueueOptions{{Name: demoQueue, Concurrency: demoSlots}}, Lease: demoLease,
	})
	if err != nil {
		return err
	}
	w.HandleFunc(demoKind, waybill.KindOptions{Retry: waybill.Fixed(200 * time.Millisecond)}, greet(f))
	return w.Run(ctx)
}

// greet takes its time, fails some jobs once, and writes down what it does.
func greet(journal *os.File) waybill.Handler {
	return func(ctx context.Context, job *waybill.Attempt) ([]byte, error) {
		fmt.Fprintf(journal, "begun %s\n", job.ID) // one write each: whole lines, also from many goroutines
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(demoWork):
		}
		if strings.HasSuffix(job.ID, "50") && job.Failures == 0 {
			fmt.Fprintf(journal, "failed %s\n", job.ID)
			return nil, errors.New("no luck at first")
		}
		fmt.Fprintf(journal, "done %s\n", job.ID)
		return nil, nil
	}
}

// entry is one line of a worker's journal: "begun", "failed" or "done", and the job.
type entry struct{ what, job string }

type journal []entry

func readJournal(path string) (journal, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) { // it has not begun
		return nil, nil
	}
	var j journal
	for text := range strings.Lines(string(raw)) {
		if what, job, ok := strings.Cut(strings.TrimSuffix(text, "\n"), " "); ok && strings.HasSuffix(text, "\n") {
			j = append(j, entry{what, job})
		}
	}
	return j, err
}

// inHand are the jobs that were begun and not ended, in order.
func (j journal) inHand() []string {
	var held []string
	for _, e := range j {
		if e.what == "begun" {
			held = append(held, e.job)
		} else {
			held = slices.DeleteFunc(held, func(job string) bool { return job == e.job })
		}
	}
	return held
}

// count is how often each job met with something.
func (j journal) count(what string) map[string]int {
	n := map[string]int{}
	for _, e := range j {
		if e.what == what {
			n[e.job]++
		}
	}
	return n
}
