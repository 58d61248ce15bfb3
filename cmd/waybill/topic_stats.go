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

func (a *app) topicStatsCommand() *cobra.Command {
	f := &statsFlags{interval: spanFlag(watchEvery)}
	cmd := &cobra.Command{
		Use: "stats TOPIC", Short: "Show how a topic and its subscriptions stand", Args: between(1, 1),
		Long: `Stats shows how a topic stands, then a line for each subscription:
  LAG      events that it has not taken yet, and OLDEST how long ago the first of them was published
  ACTIVE   jobs of events that workers have, READY that wait, RETRY that are tried again later, DEAD dead letters
  LOST     events that were cut from the stream before it took them, since its creation: alarm on growth, not on the number
and a line for each consumer group that is not Waybill's; BEHIND are events that it has not acknowledged. Below stands what
to do where something is not as it should be. Rejected counts tries: an event that is sent again until there is room counts
each time. The queue of a subscription has its own stats: queue stats TOPIC/NAME.

--watch as in queue stats.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.watch = f.watch || cmd.Flags().Changed("interval")
			return a.lookAtTopic(cmd, args[0], func(ctx context.Context, t *topic.Stream) error { return a.topicStats(ctx, t, f) })
		},
		ValidArgsFunction: a.completeTopic,
	}
	cmd.Flags().BoolVar(&f.watch, "watch", false, "show it again and again")
	cmd.Flags().Var(&f.interval, "interval", "show it again so often (default 2s; with this --watch goes without saying)")
	quietDefaults(cmd, "interval")
	return cmd
}

func (a *app) topicStats(ctx context.Context, t *topic.Stream, f *statsFlags) error {
	read := func() (string, error) {
		s, err := t.Stats(ctx)
		if err != nil {
			return "", err
		}
		return a.topicText(s)
	}
	if f.watch {
		return a.watch(ctx, time.Duration(f.interval), read)
	}
	text, err := read()
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.stdout, text)
	return err
}

// topicText is how a topic stands: an object, or lines for people.
func (a *app) topicText(s topic.Stats) (string, error) {
	var b strings.Builder
	if a.json {
		err := printJSON(&b, topicObjectOf(s))
		return b.String(), err
	}
	b.WriteString(a.rowsText(topicRows(s)))
	if len(s.Subscriptions) > 0 {
		b.WriteString("\n" + a.rowsText(subscriptionRows(s)))
	}
	if len(s.Groups) > 0 {
		b.WriteString("\n" + a.rowsText(groupRows(s)))
	}
	for i, text := range topicAdvice(s) {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString(a.paint(a.stdout, yellow, text) + "\n")
	}
	return b.String(), nil
}

func (a *app) topicListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List all topics", Args: between(0, 0),
		Long: "List prints a line for each topic that somebody has written to; with --json an object, as topic stats does.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.topicList(ctx)
		},
	}
}

func (a *app) topicList(ctx context.Context) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	names, err := c.Topics(ctx)
	if err != nil {
		return err
	}
	slices.Sort(names)
	a.warnOfServer(ctx, c)
	rows := [][]cell{heads("TOPIC", "EVENTS", "ENTRIES", "CAPACITY", "SUBSCRIPTIONS", "GROUPS", "LAG", "OLDEST", "DEAD", "LOST")}
	for _, name := range names {
		s, err := topic.Open(c.Client, name).Stats(ctx)
		if err != nil {
			return err
		}
		if a.json {
			if err := printJSON(a.stdout, topicObjectOf(s)); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, topicRow(s))
	}
	switch {
	case a.json:
		return nil
	case len(names) == 0:
		a.say("there is no topic yet")
		return nil
	}
	return a.printRows(rows)
}

// topicRow is the line of a topic among others. Its lag is that of the slowest subscription.
func topicRow(s topic.Stats) []cell {
	lag, oldest, dead, lost := int64(0), time.Duration(-1), int64(0), int64(0)
	for _, sub := range s.Subscriptions {
		lag, oldest = max(lag, sub.Lag), max(oldest, sub.Oldest)
		dead, lost = dead+sub.Dead, lost+sub.Lost
	}
	row := []cell{
		{text: s.Topic},
		number(s.Published, ""),
		number(s.Entries, ""),
		{text: boundText(s.Capacity)},
		number(int64(len(s.Subscriptions)), ""),
		number(int64(len(s.Groups)), ""),
		number(lag, yellow),
		{text: ageOrNone(oldest)},
		number(dead, red),
		number(lost, red),
	}
	if advice := topicAdvice(s); len(advice) > 0 {
		row = append(row, cell{"see topic stats " + s.Topic, yellow})
	}
	return row
}

// boundText is a bound for a table.
func boundText(n int64) string {
	if n == store.Unlimited {
		return "-"
	}
	return limitText(&n)
}

// ageOrNone is an age for a table; negative = none.
func ageOrNone(d time.Duration) string {
	if d < 0 {
		return "-"
	}
	return span(d)
}
