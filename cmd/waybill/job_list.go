package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// listFlags are what `waybill job list` is told.
type listFlags struct {
	filter filterFlags
	limit  wholeFlag
}

// blockRows is how many rows of a long list are aligned together, and printed before the next are read.
const blockRows = 500

func (a *app) jobListCommand() *cobra.Command {
	f := &listFlags{limit: 50}
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
	cmd.Flags().Var(&f.limit, "limit", "print so many jobs at most; 0 = all")
	return cmd
}

func (a *app) jobList(ctx context.Context, cmd *cobra.Command, queue string, f *listFlags) error {
	if f.limit < 0 {
		return usage(cmd, "--limit is %d: from 0 on", f.limit)
	}
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
	if err == nil {
		whole, ok, failed := wholeJob(ctx, l.q, j)
		if failed != nil || !ok {
			return failed
		}
		j = whole
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

// wholeJob reads what a list leaves out of a job: errors, result, progress and reason. ok false: the job left meanwhile.
func wholeJob(ctx context.Context, q *waybill.Queue, j waybill.JobInfo) (whole waybill.JobInfo, ok bool, err error) {
	if j.Attempt == 0 && j.State != waybill.StateCancelled {
		return j, true, nil // it has none of these
	}
	whole, err = q.Get(ctx, j.ID)
	switch {
	case errors.Is(err, waybill.ErrNotFound):
		return j, false, nil
	case err != nil:
		return j, false, err
	case !whole.Known:
		return j, false, nil
	}
	return whole, true, nil
}

// flush prints the rows that are aligned together, the first ones below a head.
func (l *lister) flush() error {
	if l.app.json || len(l.rows) == 0 {
		return nil
	}
	first := l.n == int64(len(l.rows))
	rows := append([][]cell{heads("ID", "STATE", "KIND", "ATTEMPT", "AGE", "DUE, ERROR")}, l.rows...)
	l.rows = nil
	text := l.app.rowsText(fit(rows, width(l.app.stdout)))
	if !first {
		_, text, _ = strings.Cut(text, "\n")
	}
	_, err := io.WriteString(l.app.stdout, text)
	return err
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
