package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/topic"
)

// topicTrim is what `waybill topic trim` is told.
type topicTrim struct {
	bulkFlags
	before placeFlag
}

func (a *app) topicTrimCommand() *cobra.Command {
	f := &topicTrim{}
	cmd := &cobra.Command{
		Use: "trim TOPIC", Short: "Cut the stream", Args: between(1, 1),
		Long: `Trim cuts what nobody wants any more, as workers do four times a second by themselves: what all subscriptions have taken and all
other consumer groups have acknowledged, and what topic set says by --max-age and --max-events.

With --before all events before that place are cut, whoever wants them: ` + placeText + `.
Then you are told who loses how many, and asked; without a terminal give --yes. Subscriptions count what they lost. A job whose
event is cut stays.`,
		Example: "  waybill topic trim orders --before 7d --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.before.given() && !f.yes && !f.dryRun && !a.canAsk() {
				return usage(cmd, "this cuts events whoever wants them, and there is no terminal to ask on: give --yes, or --dry-run to count only")
			}
			return a.lookAtTopic(cmd, args[0], func(ctx context.Context, t *topic.Stream) error { return a.topicTrim(ctx, t, f) })
		},
		ValidArgsFunction: a.completeTopic,
	}
	cmd.Flags().Var(&f.before, "before", "cut all events before that, also those that are wanted")
	completePlaces(cmd, "before")
	f.define(cmd)
	return cmd
}

// loss is what somebody loses who reads a stream.
type loss struct {
	Name   string `json:"name"`
	Mine   bool   `json:"subscription"` // false: a consumer group that is not Waybill's
	Events int64  `json:"events"`
}

func (l loss) text(of string) string {
	if l.Mine {
		return fmt.Sprintf("%s/%s loses %s", of, oneLine(l.Name), grouped(l.Events, "event"))
	}
	return fmt.Sprintf("group %s loses %s", oneLine(l.Name), grouped(l.Events, "event"))
}

// topicTrimObject is the object of a trim.
type topicTrimObject struct {
	Topic  string       `json:"topic"`
	Before *topic.Place `json:"before"`
	DryRun bool         `json:"dry_run"`
	Cut    int64        `json:"cut"`
	Losses []loss       `json:"losses"`
}

func (a *app) topicTrim(ctx context.Context, t *topic.Stream, f *topicTrim) error {
	s, err := t.Stats(ctx)
	if err != nil {
		return err
	}
	o := topicTrimObject{Topic: s.Topic, DryRun: f.dryRun, Losses: []loss{}}
	place := anchored(f.before.from(s.At), s)
	if f.before.given() {
		o.Before = &place
	}
	below, err := trimBelow(ctx, t, s, place)
	if err != nil {
		return err
	}
	if f.before.given() {
		o.Losses = losses(s, below)
	}
	if f.dryRun {
		o.Cut = max(0, below-s.FirstNumber)
		return a.printTrimmed(o)
	}
	if f.before.given() && !f.yes {
		if err := a.ask(ctx, trimQuestion(s, below, o.Losses)); err != nil {
			return err
		}
	}
	o.Cut, err = t.Trim(ctx, place)
	if err != nil && o.Cut > 0 {
		return fmt.Errorf("%s cut so far, the same command goes on: %w", entryCount(o.Cut), err)
	}
	if err != nil {
		return err
	}
	return a.printTrimmed(o)
}

// trimBelow is the number of the first event that stays.
func trimBelow(ctx context.Context, t *topic.Stream, s topic.Stats, place topic.Place) (int64, error) {
	if s.First == "" {
		return 0, nil
	}
	if place != "" {
		return numberAt(ctx, t, s, place)
	}
	o, err := t.Settings(ctx)
	if err != nil {
		return 0, err
	}
	below, held := wanted(s)
	if held && *o.Keep > 0 {
		n, err := numberAt(ctx, t, s, topic.At(s.At.Add(-*o.Keep)))
		if err != nil {
			return 0, err
		}
		below = min(below, n)
	}
	if *o.MaxAge != topic.Unlimited {
		n, err := numberAt(ctx, t, s, topic.At(s.At.Add(-*o.MaxAge)))
		if err != nil {
			return 0, err
		}
		below = max(below, n)
	}
	if *o.MaxEvents != topic.Unlimited {
		below = max(below, s.Published-*o.MaxEvents+1)
	}
	return below, nil
}

// wanted is the number of the first event that somebody wants; held false: nobody reads the stream, so all is kept.
func wanted(s topic.Stats) (below int64, held bool) {
	below = s.Published + 1
	for _, sub := range s.Subscriptions {
		switch {
		case !sub.Detached.IsZero():
			continue
		case sub.Cursor == "":
			below = min(below, s.FirstNumber) // its place is found by the next claim
		}
		held, below = true, min(below, max(sub.Taken+1, s.FirstNumber))
	}
	for _, g := range s.Groups {
		if g.Ignored.IsZero() {
			held, below = true, min(below, s.Published+1-g.Behind)
		}
	}
	if !held {
		below = s.FirstNumber
	}
	return below, held
}

// losses are who loses events that are cut below a number.
func losses(s topic.Stats, below int64) []loss {
	out := []loss{}
	for _, sub := range s.Subscriptions {
		if n := below - max(sub.Taken+1, s.FirstNumber); n > 0 {
			out = append(out, loss{sub.Name, true, n})
		}
	}
	for _, g := range s.Groups {
		if n := below - (s.Published + 1 - g.Behind); g.Behind > 0 && n > 0 {
			out = append(out, loss{g.Name, false, n})
		}
	}
	return out
}

func trimQuestion(s topic.Stats, below int64, lost []loss) string {
	text := fmt.Sprintf("Cut %s of topic %s", grouped(max(0, below-s.FirstNumber), "event"), s.Topic)
	for i, l := range lost {
		text += map[bool]string{true: ": ", false: ", "}[i == 0] + l.text(s.Topic)
	}
	return text + "?"
}

// printTrimmed tells what was cut, or would be.
func (a *app) printTrimmed(o topicTrimObject) error {
	if a.json {
		return printJSON(a.stdout, o)
	}
	text := "topic " + o.Topic + ": " + entryCount(o.Cut) + " cut"
	if o.DryRun {
		text = "topic " + o.Topic + ": " + entryCount(o.Cut) + " would be cut"
	}
	var parts []string
	for _, l := range o.Losses {
		parts = append(parts, l.text(o.Topic))
	}
	_, err := fmt.Fprintln(a.stdout, strings.Join(append([]string{text}, parts...), "; "))
	return err
}
