package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
)

func (a *app) queueCommand() *cobra.Command {
	return parent("queue", "Look at queues and change them", a.queueListCommand(), a.queueStatsCommand(),
		a.queueSetCommand(), a.queuePauseCommand(), a.queueResumeCommand(), a.queueDrainCommand(), a.queuePurgeCommand(),
		a.queueExportCommand(), a.queueImportCommand())
}

// statsText is how queues stand: a line each, or an object.
func (a *app) statsText(all []waybill.QueueStats) (string, error) {
	switch {
	case a.json:
		var b strings.Builder
		for _, s := range all {
			if err := printJSON(&b, s); err != nil {
				return "", err
			}
		}
		return b.String(), nil
	case len(all) == 0:
		return "", nil
	}
	rows := [][]cell{heads("QUEUE", "READY", "ACTIVE", "SCHEDULED", "RETRY", "PARKED", "SPILLED", "DEAD", "CAPACITY", "WORKERS",
		"OLDEST")}
	for _, s := range all {
		row := []cell{
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
		}
		if s.PausedBy != "" {
			row = append(row, cell{"paused by " + oneLine(s.PausedBy), yellow})
		}
		rows = append(rows, row)
	}
	return a.rowsText(rows), nil
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
