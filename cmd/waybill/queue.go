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
	if one && all[0].Accepted == 0 {
		if known, err := c.Queues(ctx); err == nil && !slices.Contains(known, names[0]) {
			a.say("queue %s: nobody has written to it yet", names[0])
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
