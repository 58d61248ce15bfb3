package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/outbox"
)

// outboxRetry is what `waybill outbox retry` is told.
type outboxRetry struct {
	bulkFlags
	all       bool
	queue, id string
}

func (a *app) outboxRetryCommand(f *databaseFlags) *cobra.Command {
	r := &outboxRetry{}
	cmd := &cobra.Command{
		Use: "retry QUEUE ID, or retry --all [--queue QUEUE]", Short: "Have rows that were set aside sent again", Args: between(0, 2),
		Long: `Retry makes the row of a job that was set aside, or all such rows, new again: a relay sends them with its next round. Where
the reason still stands they are set aside anew. With --all their number is told first, and you are asked; without a
terminal give --yes.

Exit status: 9 where QUEUE ID was not set aside.`,
		Example: "  waybill outbox retry mail order-17/mail\n  waybill outbox retry --all --queue mail --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkRetry(cmd, args, r); err != nil {
				return err
			}
			return a.onOutbox(cmd, f, func(ctx context.Context, box *outbox.Outbox) error { return a.outboxRetry(ctx, box, r) })
		},
		ValidArgsFunction: a.completeQueue,
	}
	cmd.Flags().BoolVar(&r.all, "all", false, "all rows that were set aside")
	cmd.Flags().StringVar(&r.queue, "queue", "", "with --all: those of this `QUEUE`")
	r.define(cmd)
	return cmd
}

func (a *app) checkRetry(cmd *cobra.Command, args []string, r *outboxRetry) error {
	switch {
	case r.all && len(args) > 0:
		return usage(cmd, "--all and QUEUE ID exclude each other: give one")
	case r.all:
		if r.queue != "" {
			if err := checkQueues([]string{r.queue}); err != nil {
				return err
			}
		}
		return a.checkConfirm(cmd, r.bulkFlags)
	case len(args) < 2 || args[1] == "":
		return usage(cmd, "which rows? Give QUEUE ID, or --all")
	case r.queue != "":
		return usage(cmd, "--queue goes with --all")
	}
	r.queue, r.id = args[0], args[1]
	return checkQueues(args[:1])
}

// retryObject is the object of a retry; null = of all.
type retryObject struct {
	Queue  *string `json:"queue"`
	ID     *string `json:"id"`
	DryRun bool    `json:"dry_run"`
	Rows   int64   `json:"rows"`
}

func (a *app) outboxRetry(ctx context.Context, box *outbox.Outbox, r *outboxRetry) error {
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
			if err := a.ask(ctx, fmt.Sprintf("Have %s sent again?", grouped(n, "row"))); err != nil {
				return err
			}
		}
		var err error
		if n, err = box.Retry(ctx, r.queue, r.id); err != nil {
			return err
		}
	}
	if a.json {
		return printJSON(a.stdout, retryObject{orNil(r.queue), orNil(r.id), r.dryRun, n})
	}
	did := "will be sent again"
	if r.dryRun {
		did = "would be sent again"
	}
	_, err := fmt.Fprintf(a.stdout, "%s %s\n", grouped(n, "row"), did)
	return err
}
