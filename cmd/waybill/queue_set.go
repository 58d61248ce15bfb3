package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
)

// settingsFlags are the settings of a queue.
type settingsFlags struct {
	capacity, allowance, deadCount, windowCount limitFlag
	deadAge                                     ageFlag
	windowGenerated, windowNamed, lease         givenFlag
}

func (a *app) queueSetCommand() *cobra.Command {
	f := &settingsFlags{}
	cmd := &cobra.Command{
		Use: "set QUEUE", Short: "Show or change the settings of a queue", Args: between(1, 1),
		Long: `Set changes the settings that are given, leaves the others as they are, and prints all of them; where
none is given it only prints them. The word unlimited lifts a bound; 0 is 0.`,
		Example: "  waybill queue set mail --capacity 1000\n  waybill queue set mail --capacity unlimited --dead-age 30d",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onQueue(cmd, args[0], func(ctx context.Context, q *waybill.Queue) error {
				return a.queueSet(ctx, q, args[0], f.settings())
			})
		},
		ValidArgsFunction: a.completeQueue,
	}
	v := cmd.Flags()
	v.Var(&f.capacity, "capacity", "live jobs at most (at first unlimited)")
	v.Var(&f.allowance, "crash-allowance", "crashes forgiven, the next one kills (at first 5)")
	v.Var(&f.deadCount, "dead-count", "dead jobs kept at most (at first 10000)")
	v.Var(&f.deadAge, "dead-age", "how long dead jobs are kept (at first 90d)")
	v.Var(&f.windowNamed, "window-named", "how long an ended job is known by a given ID, at least (at first 1h)")
	v.Var(&f.windowGenerated, "window-generated", "the same by a generated ID (at first 1m)")
	v.Var(&f.windowCount, "window-count", "ended jobs of one generation of these windows at most (at first 1000000)")
	v.Var(&f.lease, "lease", "of workers that say none themselves, from 100ms to 1h (at first 30s); they read it when they start")
	quietDefaults(cmd, "capacity", "crash-allowance", "dead-count", "window-count")
	return cmd
}

// settings are what was given.
func (f *settingsFlags) settings() waybill.QueueSettings {
	return waybill.QueueSettings{
		Capacity: f.capacity.value(), CrashAllowance: f.allowance.value(), DeadCount: f.deadCount.value(),
		DeadAge: f.deadAge.value(), WindowGenerated: f.windowGenerated.value(), WindowNamed: f.windowNamed.value(),
		WindowCount: f.windowCount.value(), Lease: f.lease.value(),
	}
}

func (a *app) queueSet(ctx context.Context, q *waybill.Queue, name string, s waybill.QueueSettings) error {
	changes := s != (waybill.QueueSettings{})
	if changes {
		if err := q.Set(ctx, s); err != nil {
			return err
		}
	}
	s, err := q.Settings(ctx)
	switch {
	case err != nil && changes:
		return fmt.Errorf("the settings were changed, but can't be read back: %w", err)
	case err != nil:
		return err
	}
	if a.json {
		return printJSON(a.stdout, settingsOf(name, s))
	}
	return a.printRows(settingsRows(name, s))
}

// settingsObject is the object of a queue's settings; null = unlimited.
type settingsObject struct {
	Queue             string `json:"queue"`
	Capacity          *int64 `json:"capacity"`
	CrashAllowance    *int64 `json:"crash_allowance"`
	DeadCount         *int64 `json:"dead_count"`
	DeadAgeMS         *int64 `json:"dead_age_ms"`
	WindowNamedMS     *int64 `json:"window_named_ms"`
	WindowGeneratedMS *int64 `json:"window_generated_ms"`
	WindowCount       *int64 `json:"window_count"`
	LeaseMS           *int64 `json:"lease_ms"`
}

func settingsOf(queue string, s waybill.QueueSettings) settingsObject {
	return settingsObject{
		queue, bound(s.Capacity), bound(s.CrashAllowance), bound(s.DeadCount), milliseconds(s.DeadAge),
		milliseconds(s.WindowNamed), milliseconds(s.WindowGenerated), bound(s.WindowCount), milliseconds(s.Lease),
	}
}

// bound is nil where there is none.
func bound(n *int64) *int64 {
	if n == nil || *n == waybill.Unlimited {
		return nil
	}
	return n
}

func milliseconds(d *time.Duration) *int64 {
	if d == nil || *d == waybill.Unlimited {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

// settingsRows are the lines in which people read settings, each as its flag takes it.
func settingsRows(queue string, s waybill.QueueSettings) [][]cell {
	rows := [][]cell{{{"queue", bold}, {text: queue}}}
	add := func(name, value string) { rows = append(rows, []cell{{name, bold}, {text: value}}) }
	add("capacity", limitText(s.Capacity))
	add("crash allowance", limitText(s.CrashAllowance))
	add("dead count", limitText(s.DeadCount))
	add("dead age", spelled(s.DeadAge))
	add("window named", spelled(s.WindowNamed))
	add("window generated", spelled(s.WindowGenerated))
	add("window count", limitText(s.WindowCount))
	add("lease", spelled(s.Lease))
	return rows
}

func limitText(n *int64) string {
	if n = bound(n); n == nil {
		return unlimited
	}
	return strconv.FormatInt(*n, 10)
}

// spelled is a duration as a flag takes it.
func spelled(d *time.Duration) string {
	switch {
	case d == nil || *d == waybill.Unlimited:
		return unlimited
	case *d > 0 && *d%day == 0:
		return fmt.Sprintf("%dd", *d/day)
	}
	return d.String()
}
