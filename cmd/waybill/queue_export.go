package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

func (a *app) queueExportCommand() *cobra.Command {
	f := &filterFlags{}
	cmd := &cobra.Command{
		Use: "export QUEUE", Short: "Print all jobs of a queue as JSON lines", Args: between(1, 1),
		Long: `Export prints all that is known of each job of a queue, an object a line, as job get --json does. It
changes nothing. A job that changes its state meanwhile may come twice, or not at all: pause the queue and
stop what sends jobs for a whole picture. Queue import reads these lines.`,
		Example: "  waybill queue export mail > mail.jsonl\n  waybill queue export mail --state dead > dead.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.queueExport(ctx, cmd, args[0], f)
		},
		ValidArgsFunction: a.completeQueue,
	}
	f.define(cmd, allStates)
	return cmd
}

func (a *app) queueExport(ctx context.Context, cmd *cobra.Command, queue string, f *filterFlags) error {
	if err := errors.Join(f.check(cmd, allStates), store.CheckQueue(queue)); err != nil {
		return err
	}
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	e := &exporter{app: a, q: c.Queue(queue), out: bufio.NewWriter(a.stdout), line: a.liveLine(), tally: newTally()}
	for j, err := range e.q.Jobs(ctx, f.filter()) {
		if err = e.job(ctx, j, err); err != nil {
			return errors.Join(e.out.Flush(), e.interrupted(ctx, err))
		}
	}
	e.line.clear()
	if err := e.out.Flush(); err != nil {
		return err
	}
	a.say("%s of queue %s exported", grouped(e.n, "job"), queue)
	return e.tally.err()
}

// exporter prints jobs that queue import reads.
type exporter struct {
	app   *app
	q     *waybill.Queue
	out   *bufio.Writer
	line  *liveLine
	n     int64
	tally tally // of jobs that can't be read
}

// job prints one job. An error beside an ID is of that job alone, and told.
func (e *exporter) job(ctx context.Context, j waybill.JobInfo, err error) error {
	ok := true
	if err == nil {
		j, ok, err = wholeJob(ctx, e.q, j)
	}
	switch {
	case errors.Is(err, waybill.ErrUnavailable), err != nil && j.ID == "", ctx.Err() != nil:
		return errors.Join(err, ctx.Err())
	case err != nil:
		e.line.clear()
		e.app.say("%s", message(err))
		e.tally.raise(err)
		return nil
	case !ok:
		return nil
	}
	e.n++
	e.line.show(func() string { return grouped(e.n, "job") + " exported" })
	return printJSON(e.out, j)
}

func (e *exporter) interrupted(ctx context.Context, err error) error {
	e.line.clear()
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %s exported so far", errInterrupted, grouped(e.n, "job"))
	}
	return err
}
