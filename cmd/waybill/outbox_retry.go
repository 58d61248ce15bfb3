package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/outbox"
)

// asideChange is a change of rows that were set aside, and what it is told.
type asideChange struct {
	bulkFlags
	all       bool
	queue, id string

	question   func(rows int64) string
	did, would func(rows int64) string      // what follows the number of rows
	onBox      func(*outbox.Outbox) asideDo // the change
}

// asideDo changes the rows of a queue and ID, or with "" all, and gives their number.
type asideDo func(ctx context.Context, queue, id string) (int64, error)

func (a *app) outboxRetryCommand(f *databaseFlags) *cobra.Command {
	always := func(text string) func(int64) string { return func(int64) string { return text } }
	r := &asideChange{
		question: func(n int64) string { return "Have " + grouped(n, "row") + " sent again?" }, did: always("will be sent again"), would: always("would be sent again"),
		onBox: func(box *outbox.Outbox) asideDo { return box.Retry },
	}
	cmd := &cobra.Command{
		Use: "retry QUEUE ID, or retry --all [--queue QUEUE]", Short: "Have rows that were set aside sent again",
		Long: `Retry makes the row of a job that was set aside, or all such rows, new again: a relay sends them with its next round. Where
the reason still stands they are set aside anew. With --all their number is told first, and you are asked; without a
terminal give --yes.

Exit status: 9 where QUEUE ID was not set aside.`,
		Example: "  waybill outbox retry mail order-17/mail\n  waybill outbox retry --all --queue mail --dry-run",
	}
	return a.asideCommand(cmd, f, r)
}

// asideCommand makes cmd one that changes rows that were set aside.
func (a *app) asideCommand(cmd *cobra.Command, f *databaseFlags, r *asideChange) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = between(0, 2), a.completeQueue
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.checkAside(cmd, args, r); err != nil {
			return err
		}
		return a.onOutbox(cmd, f, func(ctx context.Context, box *outbox.Outbox) error { return a.changeAside(ctx, box, r) })
	}
	cmd.Flags().BoolVar(&r.all, "all", false, "all rows that were set aside")
	cmd.Flags().StringVar(&r.queue, "queue", "", "with --all: those of this `QUEUE`")
	r.define(cmd)
	return cmd
}

// checkAside checks what was given. Queues may have names that are none: then that is why their rows were set aside.
func (a *app) checkAside(cmd *cobra.Command, args []string, r *asideChange) error {
	switch {
	case r.all && len(args) > 0:
		return usage(cmd, "--all and QUEUE ID exclude each other: give one")
	case r.all:
		return a.checkConfirm(cmd, r.bulkFlags)
	case len(args) < 2 || args[0] == "" || args[1] == "":
		return usage(cmd, "which rows? Give QUEUE ID, or --all")
	case r.queue != "":
		return usage(cmd, "--queue goes with --all")
	}
	r.queue, r.id = args[0], args[1]
	return nil
}

// asideChangeObject is the object of such a change; null = of all.
type asideChangeObject struct {
	Queue  *string `json:"queue"`
	ID     *string `json:"id"`
	DryRun bool    `json:"dry_run"`
	Rows   int64   `json:"rows"`
}

func (a *app) changeAside(ctx context.Context, box *outbox.Outbox, r *asideChange) error {
	n := int64(0)
	for _, err := range asideOf(ctx, box, r.queue, r.id) {
		if err != nil {
			return err
		}
		n++
	}
	if n == 0 && r.id != "" {
		return fmt.Errorf("%w: job %q in queue %s", errNoRow, r.id, r.queue)
	}
	if !r.dryRun && n > 0 {
		if r.all && !r.yes {
			if err := a.ask(ctx, r.question(n)); err != nil {
				return err
			}
		}
		var err error
		if n, err = r.onBox(box)(ctx, r.queue, r.id); err != nil {
			return err
		}
	}
	if a.json {
		return printJSON(a.stdout, asideChangeObject{orNil(r.queue), orNil(r.id), r.dryRun, n})
	}
	did := r.did
	if r.dryRun {
		did = r.would
	}
	_, err := fmt.Fprintf(a.stdout, "%s %s\n", grouped(n, "row"), did(n))
	return err
}
