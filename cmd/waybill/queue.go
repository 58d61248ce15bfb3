package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

func (a *app) queueCommand() *cobra.Command {
	stats := &cobra.Command{
		Use: "stats [QUEUE]", Short: "Show how queues stand", Args: between(0, 1),
		Long: `Stats shows how a queue stands, and counts since its creation; without QUEUE a line for each
queue. The counts add up: accepted + requeued = completed + died + cancelled + deleted + live.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.queueStats(ctx, args)
		},
	}
	return parent("queue", "Look at queues and change their settings", stats, a.queueSetCommand())
}

func (a *app) queueStats(ctx context.Context, names []string) error {
	one := len(names) == 1
	if one {
		if err := store.CheckQueue(names[0]); err != nil {
			return err
		}
	}
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	if !one {
		if names, err = c.Queues(ctx); err != nil {
			return err
		}
		slices.Sort(names)
	}
	all := make([]waybill.QueueStats, len(names))
	for i, name := range names {
		if all[i], err = c.Queue(name).Stats(ctx); err != nil {
			return err
		}
	}
	return a.printStats(all, one)
}

func (a *app) printStats(all []waybill.QueueStats, one bool) error {
	switch {
	case a.json:
		for _, s := range all {
			if err := printJSON(a.stdout, s); err != nil {
				return err
			}
		}
		return nil
	case one:
		return a.printRows(oneQueue(all[0]))
	case len(all) == 0:
		a.say("there is no queue yet")
		return nil
	}
	rows := [][]cell{heads("QUEUE", "READY", "ACTIVE", "SCHEDULED", "RETRY", "PARKED", "SPILLED", "DEAD", "CAPACITY", "WORKERS",
		"OLDEST")}
	for _, s := range all {
		rows = append(rows, []cell{
			{text: s.Queue},
			number(s.Ready, ""),
			number(s.Active, green),
			number(s.Scheduled, ""),
			number(s.Retry, yellow),
			number(s.Parked, yellow),
			number(s.Spilled, yellow),
			number(s.Dead, red),
			{text: capacity(s)},
			number(s.Workers, ""),
			{text: oldest(s)},
		})
	}
	return a.printRows(rows)
}

func heads(names ...string) []cell {
	row := make([]cell, len(names))
	for i, name := range names {
		row[i] = cell{name, bold}
	}
	return row
}

// number is a count; the colour is for counts above zero.
func number(n int64, colour string) cell {
	if n == 0 {
		colour = ""
	}
	return cell{fmt.Sprint(n), colour}
}

func capacity(s waybill.QueueStats) string {
	if s.Capacity == waybill.Unlimited {
		return "-"
	}
	return fmt.Sprint(s.Capacity)
}

func oldest(s waybill.QueueStats) string {
	if s.OldestReady < 0 {
		return "-"
	}
	return span(s.OldestReady)
}

// oneQueue are the lines in which people read one queue: now, then the account.
func oneQueue(s waybill.QueueStats) [][]cell {
	rows := [][]cell{{{"queue", bold}, {text: s.Queue}}}
	add := func(name, text string) { rows = append(rows, []cell{{name, bold}, {text: text}}) }
	if s.PausedBy != "" {
		add("paused", "by "+visible(s.PausedBy, ""))
	}
	add("now", fmt.Sprintf("%d ready, %d active, %d scheduled, %d retry, %d parked, %d spilled", s.Ready, s.Active,
		s.Scheduled, s.Retry, s.Parked, s.Spilled))
	add("ended", fmt.Sprintf("%d dead, %d kept with their results", s.Dead, s.Kept))
	add("workers", fmt.Sprint(s.Workers))
	if s.Capacity != waybill.Unlimited {
		add("capacity", fmt.Sprintf("%d live jobs, at most %d so far", s.Capacity, s.High))
	}
	if s.OldestReady >= 0 {
		add("oldest ready", span(s.OldestReady))
	}
	add("repeats", fmt.Sprintf("known back to %s ago, of generated IDs %s", span(s.HorizonNamed), span(s.HorizonGenerated)))
	add("account", fmt.Sprintf("%d accepted + %d requeued = %d completed + %d died + %d cancelled + %d deleted + %d live",
		s.Accepted, s.Requeued, s.Completed, s.Died, s.Cancelled, s.Deleted, s.Live()))
	add("deliveries", fmt.Sprintf("%d: %d failures, %d crashes, %d snoozes, %d released, %d stale ends refused",
		s.Deliveries, s.Failures, s.Crashes, s.Snoozes, s.Released, s.Stale))
	add("refused", fmt.Sprintf("%d duplicates, %d conflicts, %d rejected", s.Duplicates, s.Conflicts, s.Rejected))
	if s.DeadCut > 0 {
		add("dead cut", fmt.Sprintf("%d beyond count or age", s.DeadCut))
	}
	return rows
}
