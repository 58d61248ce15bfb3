package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
)

// bulkFlags are what every change of many jobs is told.
type bulkFlags struct{ dryRun, yes bool }

func (f *bulkFlags) define(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "count, and change nothing")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
}

// checkConfirm refuses what nobody can be asked about.
func (a *app) checkConfirm(cmd *cobra.Command, f bulkFlags) error {
	if f.yes || f.dryRun || a.canAsk() {
		return nil
	}
	return usage(cmd, "this changes many jobs, and there is no terminal to ask on: give --yes, or --dry-run to count only")
}

// bulk is a change of many jobs.
type bulk struct {
	name, done, queue string // "requeue", "requeued"
	into              string // the queue that the jobs go to; "" = they stay
	q                 *waybill.Queue
	flags             bulkFlags
	states            []waybill.State
	counted           bool // the counts of the queue tell how many jobs it is about
	do                func(waybill.BulkOptions) (waybill.BulkResult, error)
}

// bulk counts, asks, changes, and tells what it did.
func (a *app) bulk(ctx context.Context, b bulk) error {
	stats, err := b.q.Stats(ctx)
	if err != nil {
		return err
	}
	total, exact := countIn(stats, b.states)
	p := a.newMeter(b.done, total)
	r := waybill.BulkResult{Looked: total, Matched: total}
	if !b.flags.yes || b.flags.dryRun {
		if !b.counted || !exact {
			r, err = b.do(waybill.BulkOptions{DryRun: true, Progress: p.looked})
			p.clear()
		}
		if room := stats.Capacity - stats.Live(); b.name == "requeue" && b.into == "" && stats.Capacity != waybill.Unlimited && room < r.Matched {
			a.say("queue %s has room for %s: its capacity is %d", b.queue, grouped(max(0, room), "job"), stats.Capacity)
		}
		if err != nil || b.flags.dryRun {
			return a.bulkDone(ctx, b, r, err)
		}
		if r.Matched == 0 {
			return a.bulkDone(ctx, b, r, nil)
		}
		if err := a.ask(ctx, b.question(r.Matched)); err != nil {
			return err
		}
	}
	p = a.newMeter(b.done, total)
	r, err = b.do(waybill.BulkOptions{Progress: p.changed})
	p.clear()
	return a.bulkDone(ctx, b, r, err)
}

// countIn is the number of jobs in some states. Of jobs that ended well only the sum is known: then
// it is not exact, unless both states were asked for.
func countIn(s waybill.QueueStats, states []waybill.State) (n int64, exact bool) {
	ended := 0
	for _, state := range states {
		if state == waybill.StateCompleted || state == waybill.StateCancelled {
			ended++
			continue
		}
		n += s.In(state)
	}
	if ended > 0 {
		n += s.Kept
	}
	return n, ended != 1
}

// jobs names so many of the jobs.
func (b bulk) jobs(n int64) string {
	noun := "job"
	if len(b.states) == 1 {
		noun = string(b.states[0]) + " job"
	}
	return grouped(n, noun) + " of queue " + b.queue
}

// did is what was done to the jobs.
func (b bulk) did() string {
	if b.into != "" {
		return b.done + " into queue " + b.into
	}
	return b.done
}

func (b bulk) question(n int64) string {
	text := strings.ToUpper(b.name[:1]) + b.name[1:] + " " + b.jobs(n)
	if b.into != "" {
		text += " into queue " + b.into
	}
	return text + "?"
}
