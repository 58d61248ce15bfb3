package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/outbox"
)

// outboxPurge is what `waybill outbox purge` is told.
type outboxPurge struct {
	bulkFlags
	older durationFlag
}

func (a *app) outboxPurgeCommand(f *databaseFlags) *cobra.Command {
	p := &outboxPurge{older: durationFlag(outbox.DefaultKeep)}
	cmd := &cobra.Command{
		Use: "purge", Short: "Delete rows of jobs that ended", Args: between(0, 0),
		Long: `Purge deletes rows whose jobs were acked, cancelled or deleted longer than --older-than ago, by the database's clock. Relays
do so by themselves, by their --keep; purge is for those that keep for ever, and for a table that is to be smaller now. Rows
of jobs that have not ended, and of dead ones, stay; those of events go so long after they were published. From a copy of Redis that is older than what was purged, jobs that
ended can return, and outbox replay does not know them.

It goes in bounded steps with pauses; Ctrl-C stops between two of them, and the same command goes on where it stopped.
Without a terminal give --yes.`,
		Example: "  waybill outbox purge --older-than 30d --dry-run",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if time.Duration(p.older) < time.Second {
				return usage(cmd, "--older-than is %s: at least 1s", time.Duration(p.older))
			}
			if err := a.checkConfirm(cmd, p.bulkFlags); err != nil {
				return err
			}
			return a.onOutbox(cmd, f, func(ctx context.Context, box *outbox.Outbox) error { return a.outboxPurge(ctx, box, p) })
		},
	}
	cmd.Flags().Var(&p.older, "older-than", "delete rows of jobs that ended so long ago (default 7d)")
	quietDefaults(cmd, "older-than")
	p.define(cmd)
	return cmd
}

// outboxPurgeObject is the object of a purge.
type outboxPurgeObject struct {
	OlderThanMS int64 `json:"older_than_ms"`
	DryRun      bool  `json:"dry_run"`
	Rows        int64 `json:"rows"`
}

func (a *app) outboxPurge(ctx context.Context, box *outbox.Outbox, p *outboxPurge) error {
	older, n := time.Duration(p.older), int64(0)
	if p.dryRun || !p.yes {
		var err error
		if n, err = box.CountPurge(ctx, older); err != nil {
			return err
		}
	}
	if !p.dryRun {
		if !p.yes && n > 0 {
			if err := a.ask(ctx, fmt.Sprintf("Delete %s of jobs that ended more than %s ago?", grouped(n, "row"), spelled(&older))); err != nil {
				return err
			}
		}
		line := a.liveLine()
		var err error
		n, err = box.Purge(ctx, older, func(n int64) { line.show(func() string { return grouped(n, "row") + " purged" }) })
		line.clear()
		if err != nil && n > 0 {
			return fmt.Errorf("%s purged so far, the same command goes on: %w", grouped(n, "row"), err)
		}
		if err != nil {
			return err
		}
	}
	if a.json {
		return printJSON(a.stdout, outboxPurgeObject{older.Milliseconds(), p.dryRun, n})
	}
	did := "purged"
	if p.dryRun {
		did = "would be purged"
	}
	_, err := fmt.Fprintf(a.stdout, "%s %s\n", grouped(n, "row"), did)
	return err
}
