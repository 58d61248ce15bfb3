package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

func (a *app) jobWaitCommand() *cobra.Command {
	var limit spanFlag
	cmd := &cobra.Command{
		Use: "wait QUEUE ID", Short: "Wait for the end of a job", Args: between(2, 2),
		Long: `Wait returns when the job has ended, and prints its result as it is, or with --json an object.
It hears of the end at once, also of one long ago. Redis being away is waited out.

Exit status: 0 completed, 6 dead, cancelled or deleted, 8 not ended within --wait-for, 9 not found.`,
		Example: "  waybill job wait mail order-17/receipt --wait-for 30s",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.jobWait(ctx, args[0], args[1], limit)
		},
		ValidArgsFunction: a.completeQueue,
	}
	cmd.Flags().Var(&limit, "wait-for", "wait no longer than that (default: for ever)")
	return cmd
}

func (a *app) jobWait(ctx context.Context, queue, id string, limit spanFlag) error {
	if err := errors.Join(store.CheckQueue(queue), record.CheckID(id)); err != nil {
		return err
	}
	c, err := a.connect(1)
	if err != nil {
		return err
	}
	defer c.Close()
	result, err := waiting{c, time.Duration(limit)}.end(ctx, queue, id)
	if a.json {
		o := waited{ID: id, Queue: queue, ending: endingOf(result, err)}
		if err != nil {
			o.Error, o.Message = wordsOf(err)
		}
		return a.object(o, err)
	}
	if err != nil {
		return err
	}
	return a.printEnd(id, result)
}
