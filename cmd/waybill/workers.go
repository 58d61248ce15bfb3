package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
)

func (a *app) workerCommand() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List the workers that are there", Args: between(0, 0),
		Long: `List prints a line for each worker that showed itself within the last 30 seconds, or with --json an object,
as it last said itself, at most 10 seconds ago.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.workerList(ctx)
		},
	}
	quiet := a.workerAskCommand("quiet", "Ask workers to claim nothing more", `Quiet asks workers to claim nothing more. What they run goes on, and so do their processes.
They hear of it at once, or within 10 seconds.`, (*waybill.Client).QuietWorker)
	stop := a.workerAskCommand("stop", "Ask workers to stop", `Stop asks workers to stop as TERM does: they claim nothing more, let attempts end within their grace, and
give back the others. They hear of it at once, or within 10 seconds. A supervisor may start them
again.`, (*waybill.Client).StopWorker)
	return parent("worker", "Look at workers, and ask them to stop", list, quiet, stop)
}

// askWorker asks one worker for something.
type askWorker func(c *waybill.Client, ctx context.Context, id string) error

func (a *app) workerAskCommand(name, short, long string, ask askWorker) *cobra.Command {
	return &cobra.Command{
		Use: name + " ID…", Short: short, Long: long, Args: between(1, manyArguments),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			c, err := a.connect(0)
			if err != nil {
				return err
			}
			defer c.Close()
			return a.askWorkers(args, name, func(id string) error { return ask(c.Client, ctx, id) })
		},
		ValidArgsFunction: a.completeWorkers,
	}
}

// askedObject is the object of a worker that was asked for something.
type askedObject struct {
	ID      string  `json:"id"`
	Asked   *string `json:"asked"` // quiet or stop; null = it was not
	Error   *string `json:"error"`
	Message *string `json:"message"`
}

// askWorkers asks workers one after the other, and answers each.
func (a *app) askWorkers(ids []string, what string, ask func(id string) error) error {
	t := newTally()
	for _, id := range ids {
		err := ask(id)
		t.raise(err)
		o := askedObject{ID: id, Asked: &what}
		if err != nil {
			o.Asked = nil
			o.Error, o.Message = wordsOf(err)
			a.say("%s", *o.Message)
		}
		failed := error(nil)
		switch {
		case a.json:
			failed = printJSON(a.stdout, o)
		case err == nil:
			_, failed = fmt.Fprintf(a.stdout, "%s asked: %s\n", id, what)
		}
		if failed != nil {
			return failed
		}
		if errors.Is(err, waybill.ErrUnavailable) {
			break
		}
	}
	return t.err()
}

func (a *app) workerList(ctx context.Context) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	all, err := c.Workers(ctx)
	if err != nil {
		return err
	}
	a.warnOfServer(ctx, c)
	if a.json {
		for _, w := range all {
			if err := printJSON(a.stdout, w); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		a.say("no worker is there")
		return nil
	}
	rows := [][]cell{heads("ID", "HOST", "PID", "STATE", "RUNNING", "OF", "FOR", "VERSION", "QUEUES")}
	for _, w := range all {
		rows = append(rows, workerRow(w))
	}
	return a.printRows(fit(rows, width(a.stdout)))
}

// workerRow is the line of one worker.
func workerRow(w waybill.WorkerInfo) []cell {
	colour := green
	if w.State != waybill.WorkerWorking {
		colour = yellow
	}
	since := "-"
	if !w.StartedAt.IsZero() {
		since = age(max(0, time.Since(w.StartedAt)))
	}
	return []cell{
		{text: visible(w.ID, "")},
		{text: oneLine(w.Host)},
		number(int64(w.PID), ""),
		{string(w.State), colour},
		number(int64(w.Running), ""),
		number(int64(w.Concurrency), ""),
		{text: since},
		{text: oneLine(w.Version)},
		{text: workerQueues(w)},
	}
}

// workerQueues are a worker's queues and kinds.
func workerQueues(w waybill.WorkerInfo) string {
	var parts []string
	for _, q := range w.Queues {
		parts = append(parts, fmt.Sprintf("%s=%d", oneLine(q.Name), q.Concurrency))
	}
	text := strings.Join(parts, " ")
	if len(w.Kinds) > 0 {
		text += " (" + oneLine(strings.Join(w.Kinds, ", ")) + ")"
	}
	return text
}

// completeWorkers completes the IDs of workers.
func (a *app) completeWorkers(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	return a.asked(cmd, begun, func(ctx context.Context, c connection) ([]string, error) {
		all, err := c.Workers(ctx)
		ids := make([]string, len(all))
		for i, w := range all {
			ids[i] = w.ID
		}
		return ids, err
	}), cobra.ShellCompDirectiveNoFileComp
}
