package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// listFlags are what `waybill job list` is told.
type listFlags struct {
	filter filterFlags
	limit  uint
}

// blockRows is how many rows of a long list are aligned together, and printed before the next are read.
const blockRows = 500

func (a *app) jobListCommand() *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use: "list QUEUE", Short: "List jobs", Args: between(1, 1),
		Long: `List prints a line for each job, or with --json an object, all that is known of it. They come state by
state: ready, scheduled, retry, parked, spilled, active, dead, then completed and cancelled ones; within a
state in the order in which they are to come, or came. A job that changes its state meanwhile may
come twice, or not at all.`,
		Example: "  waybill job list mail --state dead --error-contains timeout --older-than 1h",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.jobList(ctx, cmd, args[0], f)
		},
		ValidArgsFunction: a.completeQueue,
	}
	f.filter.define(cmd, allStates)
	cmd.Flags().UintVar(&f.limit, "limit", 50, "print `N` jobs at most; 0 = all")
	return cmd
}

func (a *app) jobList(ctx context.Context, cmd *cobra.Command, queue string, f *listFlags) error {
	if err := errors.Join(f.filter.check(cmd, allStates), store.CheckQueue(queue)); err != nil {
		return err
	}
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	l := &lister{app: a, q: c.Queue(queue)}
	for j, err := range l.q.Jobs(ctx, f.filter.filter()) {
		switch {
		case err != nil && j.ID == "":
			return errors.Join(l.flush(), err)
		case f.limit > 0 && l.n == int64(f.limit):
			err = l.flush()
			a.say("there are more: --limit 0 lists all, --limit N more")
			return err
		}
		if err = l.job(ctx, j, err); err != nil {
			return errors.Join(l.flush(), err)
		}
	}
	return l.end()
}

// lister prints jobs.
type lister struct {
	app  *app
	q    *waybill.Queue
	rows [][]cell
	n    int64 // jobs so far
	odd  error // of the first job that can't be read
}

// job prints one job; err is of this job alone.
func (l *lister) job(ctx context.Context, j waybill.JobInfo, err error) error {
	if err == nil && more(j) {
		whole, failed := l.q.Get(ctx, j.ID)
		switch {
		case errors.Is(failed, waybill.ErrNotFound): // it left meanwhile
			return nil
		case errors.Is(failed, waybill.ErrUnavailable):
			return failed
		case failed == nil && whole.State == j.State:
			j = whole
		}
	}
	l.n++
	if err != nil {
		l.app.say("%s", message(err))
		if l.odd == nil {
			l.odd = err
		}
		return nil
	}
	if l.app.json {
		return printJSON(l.app.stdout, j)
	}
	if l.rows = append(l.rows, listRow(j)); len(l.rows) >= blockRows {
		return l.flush()
	}
	return nil
}

// more tells whether a job may have errors, result, progress or reason, which a list does not read.
func more(j waybill.JobInfo) bool {
	return j.Attempt > 0 || j.State == waybill.StateCancelled
}

// flush prints the rows that are aligned together. The first have a head.
func (l *lister) flush() error {
	if l.app.json || len(l.rows) == 0 {
		return nil
	}
	rows := l.rows
	if l.n == int64(len(rows)) {
		rows = append([][]cell{heads("ID", "STATE", "KIND", "ATTEMPT", "AGE", "DUE, ERROR")}, rows...)
	}
	l.rows = nil
	return l.app.printRows(fit(rows, width(l.app.stdout)))
}

func (l *lister) end() error {
	if l.n == 0 && !l.app.json {
		l.app.say("no such job")
	}
	return errors.Join(l.flush(), l.told())
}

// told gives the status of jobs that could not be read, all told already.
func (l *lister) told() error {
	if l.odd == nil {
		return nil
	}
	return told(meaningOf(l.odd).status)
}

// listRow is the line of one job.
func listRow(j waybill.JobInfo) []cell {
	return []cell{
		{text: visible(j.ID, "")},
		{string(j.State), stateColours[j.State]},
		{text: j.Kind},
		number(int64(j.Attempt), ""),
		{text: age(j.At.Sub(j.EnqueuedAt))},
		{text: lastWord(j)},
	}
}

// lastWord is when a job is due, and why it is where it is.
func lastWord(j waybill.JobInfo) string {
	why := j.Reason
	if n := len(j.Errors); n > 0 && why == "" && j.State != waybill.StateCompleted {
		why = j.Errors[n-1].Message
	}
	why = oneLine(why)
	if left := j.DueAt.Sub(j.At); left > 0 && (j.State == waybill.StateScheduled || j.State == waybill.StateRetry) {
		due := "in " + age(left)
		if why != "" {
			return fmt.Sprintf("%s: %s", due, why)
		}
		return due
	}
	return why
}
