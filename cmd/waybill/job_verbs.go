package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
)

func (a *app) requeueCommand() *cobra.Command {
	return a.changeCommand(verb{
		name: "requeue", done: "requeued", near: []string{"retry", "rerun", "run"}, short: "Make dead jobs ready again",
		long: `Requeue makes dead jobs ready again. Their failures and crashes count from zero; attempts and errors
stay. Where the queue is at its capacity it stops. --rate bounds the jobs a second, so that workers are
not flooded. --to moves the jobs to another queue, under their IDs; there they count as enqueued anew.`,
		applies: []waybill.State{waybill.StateDead},
		flags: func(cmd *cobra.Command, f *changeFlags) {
			cmd.Flags().Var(&f.rate, "rate", "so many jobs a second at most (default: no bound)")
			cmd.Flags().StringVar(&f.to, "to", "", "into this `QUEUE`")
			if err := cmd.RegisterFlagCompletionFunc("to", a.completeQueues); err != nil {
				panic(err) // the flag is defined above
			}
		},
		one: func(ctx context.Context, q *waybill.Queue, _ *changeFlags, id string) error {
			return q.Requeue(ctx, id)
		},
		all: func(ctx context.Context, q *waybill.Queue, f *changeFlags, o waybill.BulkOptions) (waybill.BulkResult, error) {
			return q.RequeueAll(ctx, f.filter.filter(), o)
		},
	})
}

func (a *app) promoteCommand() *cobra.Command {
	return a.changeCommand(verb{
		name: "promote", done: "promoted", near: []string{"expedite", "now"}, short: "Make jobs that are due later ready now",
		long:    `Promote makes scheduled and retrying jobs ready now.`,
		applies: []waybill.State{waybill.StateScheduled, waybill.StateRetry},
		one: func(ctx context.Context, q *waybill.Queue, _ *changeFlags, id string) error {
			return q.Promote(ctx, id)
		},
		all: func(ctx context.Context, q *waybill.Queue, f *changeFlags, o waybill.BulkOptions) (waybill.BulkResult, error) {
			return q.PromoteAll(ctx, f.filter.filter(), o)
		},
	})
}

func (a *app) cancelCommand() *cobra.Command {
	return a.changeCommand(verb{
		name: "cancel", done: "cancelled", near: []string{"kill", "stop"}, short: "Cancel jobs that have not ended",
		long: `Cancel ends waiting jobs as cancelled, and asks the attempts that run active ones to stop. A cancelled
job stays readable for at least an hour, with the reason.`,
		applies: live,
		flags: func(cmd *cobra.Command, f *changeFlags) {
			cmd.Flags().StringVar(&f.reason, "reason", "by "+a.who(), "why, for people to read: one line, at most 1 KiB")
		},
		one: func(ctx context.Context, q *waybill.Queue, f *changeFlags, id string) error {
			return q.Cancel(ctx, id, f.reason)
		},
		all: func(ctx context.Context, q *waybill.Queue, f *changeFlags, o waybill.BulkOptions) (waybill.BulkResult, error) {
			return q.CancelAll(ctx, f.filter.filter(), f.reason, o)
		},
	})
}

func (a *app) deleteCommand() *cobra.Command {
	return a.changeCommand(verb{
		name: "delete", done: "deleted", near: []string{"remove", "rm"}, short: "Delete jobs",
		long: `Delete removes jobs with all that belongs to them. Active ones are refused, or with --force deleted too:
the attempt then finds its lease lost, and changes nothing. A deleted ID is remembered within the
window, so that a late repeat of its enqueue does not bring the job back; with --forget it is not.`,
		applies: allStates,
		flags: func(cmd *cobra.Command, f *changeFlags) {
			cmd.Flags().BoolVar(&f.force, "force", false, "active jobs too")
			cmd.Flags().BoolVar(&f.forgets, "forget", false, "the IDs may be enqueued anew at once")
		},
		one: func(ctx context.Context, q *waybill.Queue, f *changeFlags, id string) error {
			return q.Delete(ctx, id, f.deletes())
		},
		all: func(ctx context.Context, q *waybill.Queue, f *changeFlags, o waybill.BulkOptions) (waybill.BulkResult, error) {
			return q.DeleteAll(ctx, f.filter.filter(), f.deletes(), o)
		},
	})
}

func (f *changeFlags) deletes() waybill.DeleteOptions {
	return waybill.DeleteOptions{Force: f.force, Forget: f.forgets}
}

// rateFlag is a number of jobs a second, above 0. Zero: not given.
type rateFlag float64

func (r *rateFlag) String() string { return "" }
func (r *rateFlag) Type() string   { return "N" }

func (r *rateFlag) Set(s string) error {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n > 0 && n <= 1e6) {
		return errors.New("want a number of jobs a second, above 0, to 1000000")
	}
	*r = rateFlag(n)
	return nil
}

// checkIDs checks all IDs before the first is sent.
func checkIDs(ids []string) error {
	for _, id := range ids {
		if err := record.CheckID(id); err != nil {
			return err
		}
	}
	return nil
}
