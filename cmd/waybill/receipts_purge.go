package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

// receiptsPurge is a purge of some scopes.
type receiptsPurge struct {
	bulkFlags
	older durationFlag
}

func (a *app) receiptsPurgeCommand(f *databaseFlags) *cobra.Command {
	p := &receiptsPurge{older: durationFlag(receipt.DefaultPurgeAge)}
	cmd := &cobra.Command{
		Use: "purge [QUEUE…]", Short: "Delete old receipts", Args: cobra.ArbitraryArgs,
		Long: `Purge deletes receipts, and operations that have an answer, of jobs that were due first longer than --older-than ago, by
the database's clock; of the queues that are named, or of all that have any. Operations without an answer stay. From
then on a job that is as old and has no receipt is refused, and dead: nobody could tell whether its effect was applied.
So keep receipts for longer than dead jobs: receipts check QUEUE compares both.

It goes in bounded steps with pauses; Ctrl-C stops between two of them, and the same command goes on where it stopped.
Without a terminal give --yes. Run it daily.`,
		Example: "  waybill receipts purge --older-than 90d --yes\n  waybill receipts purge mail payments --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			if time.Duration(p.older) < receipt.LeastPurgeAge {
				return usage(cmd, "--older-than is %s: at least 1d", time.Duration(p.older))
			}
			if err := a.checkConfirm(cmd, p.bulkFlags); err != nil {
				return err
			}
			return a.onReceipts(cmd, f, args, func(ctx context.Context, r *receipt.Receipts) error {
				return a.receiptsPurge(ctx, r, args, p)
			})
		},
		ValidArgsFunction: a.completeQueues,
	}
	cmd.Flags().Var(&p.older, "older-than", "delete what belongs to jobs that were due first so long ago")
	p.define(cmd)
	return cmd
}

func (a *app) receiptsPurge(ctx context.Context, r *receipt.Receipts, scopes []string, p *receiptsPurge) (err error) {
	if len(scopes) == 0 {
		if scopes, err = r.Scopes(ctx); err != nil {
			return err
		}
	}
	age := time.Duration(p.older)
	a.warnKept(ctx, scopes, age)
	if !p.yes && !p.dryRun {
		n := int64(0)
		for _, scope := range scopes {
			c, err := r.CountPurge(ctx, scope, age)
			if err != nil {
				return err
			}
			n += c.Receipts + c.Operations
		}
		question := fmt.Sprintf("Delete %s of %s, older than %s?", grouped(n, "receipt"), count(len(scopes), "queue"), spelled(&age))
		if err := a.ask(ctx, question); err != nil {
			return err
		}
	}
	for _, scope := range scopes {
		if err := a.purgeScope(ctx, r, scope, p); err != nil {
			return err
		}
	}
	if len(scopes) == 0 {
		a.say("there is nothing to purge: no receipts")
	}
	return nil
}

func (a *app) purgeScope(ctx context.Context, r *receipt.Receipts, scope string, p *receiptsPurge) error {
	line, done := a.liveLine(), receipt.Purged{}
	var err error
	if p.dryRun {
		done, err = r.CountPurge(ctx, scope, time.Duration(p.older))
	} else {
		done, err = r.Purge(ctx, scope, time.Duration(p.older), func(d receipt.Purged) {
			line.show(func() string {
				return fmt.Sprintf("queue %s: %s, %s purged", scope, grouped(d.Receipts, "receipt"), grouped(d.Operations, "operation"))
			})
		})
	}
	line.clear()
	if err != nil && done.Receipts+done.Operations > 0 {
		return fmt.Errorf("%s, %s of queue %s purged so far, the same command goes on: %w",
			grouped(done.Receipts, "receipt"), grouped(done.Operations, "operation"), scope, err)
	}
	if err != nil {
		return err
	}
	if a.json {
		return printJSON(a.stdout, purgeObject{scope, done.Before.UTC().Format(stampFormat), p.dryRun, done.Receipts, done.Operations})
	}
	did := "purged"
	if p.dryRun {
		did = "would be purged"
	}
	_, err = fmt.Fprintf(a.stdout, "queue %s: %s, %s %s, born before %s\n", visible(scope, ""), grouped(done.Receipts, "receipt"),
		grouped(done.Operations, "operation"), did, done.Before.UTC().Format(time.RFC3339))
	return err
}

const stampFormat = "2006-01-02T15:04:05.000Z07:00"

// purgeObject is the object of a purge of one queue.
type purgeObject struct {
	Queue      string `json:"queue"`
	BornBefore string `json:"born_before_at"`
	DryRun     bool   `json:"dry_run"`
	Receipts   int64  `json:"receipts"`
	Operations int64  `json:"operations"`
}

// warnKept tells of queues that keep dead jobs for longer than receipts are kept. It is silent where Redis does not answer.
func (a *app) warnKept(ctx context.Context, queues []string, older time.Duration) {
	c, err := a.connect(0)
	if err != nil {
		return
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, doubtTime)
	defer cancel()
	for _, queue := range queues {
		s, err := c.Queue(queue).Settings(ctx)
		if err != nil || *s.DeadAge != waybill.Unlimited && *s.DeadAge <= older {
			continue
		}
		a.say("warning: queue %s keeps dead jobs for %s: one that is requeued after %s will be refused (receipts check %s)",
			queue, spelled(s.DeadAge), spelled(&older), queue)
	}
}
