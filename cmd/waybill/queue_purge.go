package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
)

// purgeFlags are what `waybill queue purge` is told.
type purgeFlags struct {
	states statesFlag
	bulk   bulkFlags
}

func (a *app) queuePurgeCommand() *cobra.Command {
	f := &purgeFlags{}
	states := slices.DeleteFunc(slices.Clone(allStates), func(s waybill.State) bool { return s == waybill.StateActive })
	cmd := &cobra.Command{
		Use: "purge QUEUE --state STATE", Short: "Delete all jobs of a state", Args: between(1, 1),
		Long: `Purge deletes all jobs of one state, without reading them. Their IDs are remembered within the window.
Their number is told first, and you are asked; without a terminal give --yes. --dry-run only
counts. It goes in bounded steps; Ctrl-C stops between two of them, and the same command goes on where it
stopped. Settings and counts of the queue stay. To delete by kind, age or error: job delete.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(f.states) != 1 || !slices.Contains(states, f.states[0]) {
				return usage(cmd, "give one --state: %s", words(states))
			}
			if err := a.checkConfirm(cmd, f.bulk); err != nil {
				return err
			}
			return a.onQueue(cmd, args[0], func(ctx context.Context, q *waybill.Queue) error {
				return a.bulk(ctx, bulk{
					name: "purge", done: "purged", queue: args[0], q: q, flags: f.bulk, states: f.states, counted: true,
					do: func(o waybill.BulkOptions) (waybill.BulkResult, error) { return q.Purge(ctx, f.states[0], o) },
				})
			})
		},
		ValidArgsFunction: a.completeQueue,
	}
	cmd.Flags().Var(&f.states, "state", "jobs in this state: "+words(states))
	completeWith(cmd, "state", states)
	f.bulk.define(cmd)
	return cmd
}
