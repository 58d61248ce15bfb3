package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// verb is a change of jobs, of single ones by ID or of many by filter.
type verb struct {
	name, done string   // "requeue", "requeued"
	near       []string // other words for it
	short      string
	long       string          // what it does
	applies    []waybill.State // what it can be done to
	flags      func(*cobra.Command, *changeFlags)
	one        func(context.Context, *waybill.Queue, *changeFlags, string) error
	all        func(context.Context, *waybill.Queue, *changeFlags, waybill.BulkOptions) (waybill.BulkResult, error)
}

// changeFlags are what a change of jobs is told.
type changeFlags struct {
	filter         filterFlags
	bulk           bulkFlags
	reason, to     string
	rate           rateFlag
	force, forgets bool
}

// live are the states of jobs that have not ended.
var live = []waybill.State{
	waybill.StateReady, waybill.StateScheduled, waybill.StateRetry, waybill.StateParked, waybill.StateSpilled, waybill.StateActive,
}

const manyHelp = `

Jobs are named by their IDs, or taken by --state, --kind, --error-contains and --older-than: all that is
given must hold. For many jobs their number is told first, and you are asked; without a terminal give
--yes. --dry-run only counts. It goes in steps of at most 25 jobs and leaves time to others; Ctrl-C
stops between two of them, and the same command goes on where it stopped.`

func (a *app) changeCommand(v verb) *cobra.Command {
	f := &changeFlags{}
	cmd := &cobra.Command{
		Use:   v.name + " QUEUE {ID… | --state STATE | --kind KIND | …}",
		Short: v.short, SuggestFor: v.near,
		Long: v.long + manyHelp,
		Args: between(1, manyArguments),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.change(ctx, cmd, change{v, f, args[0]}, args[1:])
		},
		ValidArgsFunction: a.completeQueue,
	}
	f.filter.define(cmd, v.applies)
	f.bulk.define(cmd)
	if v.flags != nil {
		v.flags(cmd, f)
	}
	return cmd
}

// manyArguments bounds the IDs of a call; shells do so too.
const manyArguments = 1 << 20

// change is a verb with its flags and its queue.
type change struct {
	verb
	*changeFlags
	queue string
}

func (a *app) change(ctx context.Context, cmd *cobra.Command, c change, ids []string) error {
	if err := c.check(cmd, ids); err != nil {
		return err
	}
	if err := a.checkConfirm(cmd, c.bulk); len(ids) == 0 && err != nil {
		return err
	}
	conn, err := a.connect(0)
	if err != nil {
		return err
	}
	defer conn.Close()
	q := conn.Queue(c.queue)
	if len(ids) > 0 {
		return a.changeEach(ctx, q, c, ids)
	}
	return a.bulk(ctx, bulk{
		name: c.name, done: c.done, queue: c.queue, into: c.to, q: q, flags: c.bulk, states: c.states(), counted: c.filter.onlyStates(),
		do: func(o waybill.BulkOptions) (waybill.BulkResult, error) {
			o.Rate, o.To = float64(c.rate), c.to
			return c.all(ctx, q, c.changeFlags, o)
		},
	})
}

// states are those that are looked at.
func (c change) states() []waybill.State {
	if c.filter.states != nil {
		return c.filter.states
	}
	if c.name == "delete" && !c.force {
		return slices.DeleteFunc(slices.Clone(c.applies), func(s waybill.State) bool { return s == waybill.StateActive })
	}
	return c.applies
}

func (c change) check(cmd *cobra.Command, ids []string) error {
	v := cmd.Flags()
	byID := len(ids) > 0
	switch {
	case !byID && !c.filter.given():
		return usage(cmd, "which jobs? Give IDs, or --state, --kind, --error-contains or --older-than")
	case byID && (c.filter.given() || c.bulk.dryRun || c.to != "" || v.Changed("rate")):
		return usage(cmd, "IDs are given: --state, --kind, --error-contains, --older-than, --dry-run, --rate and --to are for many jobs")
	case v.Changed("to") && (c.to == "" || c.to == c.queue):
		return usage(cmd, "--to is to name another queue")
	case v.Changed("to"):
		if err := store.CheckQueue(c.to); err != nil {
			return err
		}
	case c.name == "delete" && !c.force && slices.Contains(c.filter.states, waybill.StateActive):
		return usage(cmd, "--state active: deleting what runs needs --force")
	}
	if err := c.filter.check(cmd, c.applies); err != nil {
		return err
	}
	return store.CheckQueue(c.queue)
}
