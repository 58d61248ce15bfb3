package main

import (
	"encoding/json"
	"fmt"
	"slices"
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
func (a *app) statsText(all []standing) (string, error) {
	switch {
	case a.json:
		var b strings.Builder
		for _, s := range all {
			if err := printJSON(&b, queueObject{s}); err != nil {
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
			{text: capacity(s.QueueStats)},
			number(s.Workers, ""),
			{text: oldest(s.QueueStats)},
		}
		if s.PausedBy != "" {
			row = append(row, cell{"paused by " + oneLine(s.PausedBy), yellow})
		}
		switch {
		case s.detached, s.lost > 0:
			row = append(row, cell{"events: " + s.events(), red})
		case s.lag > 0:
			row = append(row, cell{"events: " + s.events(), yellow})
		}
		rows = append(rows, row)
	}
	return a.rowsText(rows), nil
}

// queueObject is the object of a queue, with what its subscription has to take where it is one's.
type queueObject struct{ standing }

// MarshalJSON puts the subscription's fields behind those of the queue.
func (o queueObject) MarshalJSON() ([]byte, error) {
	queue, err := json.Marshal(o.QueueStats)
	if err != nil {
		return nil, err
	}
	var of struct {
		Lag      *int64 `json:"lag"`
		Lost     *int64 `json:"lost"`
		Detached *bool  `json:"detached"`
	}
	if o.subscribed {
		of.Lag, of.Lost, of.Detached = &o.lag, &o.lost, &o.detached
	}
	more, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	return slices.Concat(queue[:len(queue)-1], []byte(","), more[1:]), nil
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
