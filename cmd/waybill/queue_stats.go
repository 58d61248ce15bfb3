package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/topic"
)

// watchEvery is how often stats are read again, unless it is said otherwise.
const watchEvery = 2 * time.Second

// statsFlags are what `waybill queue stats` is told.
type statsFlags struct {
	watch    bool
	interval spanFlag
}

func (a *app) queueStatsCommand() *cobra.Command {
	f := &statsFlags{interval: spanFlag(watchEvery)}
	cmd := &cobra.Command{
		Use: "stats [QUEUE]", Short: "Show how queues stand", Args: between(0, 1),
		Long: `Stats shows how a queue stands, and counts since its creation; without QUEUE a line for each
queue. The counts add up: accepted + requeued = completed + died + cancelled + deleted + live.
Rejected counts tries: a job that is sent again until there is room counts each time.

The queue of a subscription, TOPIC/NAME, has the events that were taken. With it stand lag, how many are still to be taken, lost,
how many were cut before that, and whether it is detached; topic stats TOPIC has more.

With --watch it is shown again every --interval, until Ctrl-C: on a terminal in place, elsewhere one below the
other, with --json an object for each queue each time.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			if cmd.Flags().Changed("interval") {
				f.watch = true
			}
			return a.queueStats(ctx, args, f)
		},
		ValidArgsFunction: a.completeQueue,
	}
	cmd.Flags().BoolVar(&f.watch, "watch", false, "show it again and again")
	cmd.Flags().Var(&f.interval, "interval", "show it again so often (default 2s; with this --watch goes without saying)")
	quietDefaults(cmd, "interval")
	return cmd
}

func (a *app) queueListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List all queues", Args: between(0, 0),
		Long: `List prints a line for each queue that somebody has written to, with its counts; with --json an object. The queue of a
subscription, TOPIC/NAME, has the events that it has taken; those to come topic list and topic stats tell.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.queueStats(ctx, nil, &statsFlags{})
		},
	}
}

func (a *app) queueStats(ctx context.Context, names []string, f *statsFlags) error {
	if len(names) == 1 {
		if err := store.CheckQueue(names[0]); err != nil {
			return err
		}
	}
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	server := a.warnOfServer(ctx, c)
	show := func(all []standing) (string, error) {
		if len(names) == 1 && !a.json {
			return a.rowsText(oneQueue(all[0], server)), nil
		}
		return a.statsText(all)
	}
	if f.watch {
		return a.watch(ctx, time.Duration(f.interval), func() (string, error) {
			all, err := readStats(ctx, c, names)
			if err != nil {
				return "", err
			}
			return show(all)
		})
	}
	all, err := readStats(ctx, c, names)
	if err != nil {
		return err
	}
	if note := missing(ctx, c, names, all); note != "" {
		a.say("%s", note)
	}
	text, err := show(all)
	if err == nil {
		_, err = io.WriteString(a.stdout, text)
	}
	return err
}

// readStats tells how queues stand; without names all of them, by name. Each topic is looked at once.
func readStats(ctx context.Context, c connection, names []string) ([]standing, error) {
	var err error
	if len(names) == 0 {
		if names, err = c.Queues(ctx); err != nil {
			return nil, err
		}
		slices.Sort(names)
	}
	topics := map[string]topic.Stats{}
	all := make([]standing, len(names))
	for i, name := range names {
		if of, _, ok := strings.Cut(name, "/"); ok && topics[of].Topic == "" {
			if topics[of], err = topic.Open(c.Client, of).Stats(ctx); err != nil {
				return nil, err
			}
		}
		if all[i].QueueStats, err = c.Queue(name).Stats(ctx); err != nil {
			return nil, err
		}
		all[i].hear(topics)
	}
	return all, nil
}

// missing says that nobody has written to what was asked for; "" = somebody has.
func missing(ctx context.Context, c connection, names []string, all []standing) string {
	switch {
	case len(all) == 0:
		return "there is no queue yet"
	case len(names) == 1 && all[0].Accepted == 0:
		if known, err := c.Queues(ctx); err == nil && !slices.Contains(known, names[0]) {
			return "queue " + names[0] + ": nobody has written to it yet"
		}
	}
	return ""
}
