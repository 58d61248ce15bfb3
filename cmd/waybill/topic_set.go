package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/topic"
)

// topicSettingsFlags are the settings of a topic.
type topicSettingsFlags struct {
	capacity, maxEvents, windowCount   limitFlag
	onFull                             topicFullFlag
	maxAge                             ageFlag
	keep, windowGenerated, windowNamed givenFlag
}

func (a *app) topicSetCommand() *cobra.Command {
	f := &topicSettingsFlags{}
	cmd := &cobra.Command{
		Use: "set TOPIC", Short: "Show or change the settings of a topic", Args: between(1, 1),
		Long: `Set changes the settings that are given, leaves the others as they are, and prints all of them; where none is given it only
prints them. The word unlimited lifts a bound. The queue of a subscription has settings of its own: queue set TOPIC/NAME.

A topic with a bound (capacity, max-age or max-events) takes events also where nobody subscribes. What max-age and max-events
cut is cut whoever wants it; stats then say who lost how many.`,
		Example: "  waybill topic set orders --capacity 1000000 --keep 24h\n  waybill topic set orders --on-full detach",
		RunE: func(cmd *cobra.Command, args []string) error {
			on := a.onTopic
			if f.settings() == (topic.Settings{}) {
				on = a.lookAtTopic
			}
			return on(cmd, args[0], func(ctx context.Context, t *topic.Stream) error {
				return a.topicSet(ctx, t, args[0], f.settings())
			})
		},
		ValidArgsFunction: a.completeTopic,
	}
	v := cmd.Flags()
	v.Var(&f.capacity, "capacity", "entries of the stream at most (at first unlimited)")
	v.Var(&f.onFull, "on-full", "of a full stream: reject all events, or detach the slowest subscription (at first reject)")
	v.Var(&f.keep, "keep", "events stay at least so long though all have taken them, for replays (at first 0s)")
	v.Var(&f.maxAge, "max-age", "older events are cut, taken or not (at first unlimited)")
	v.Var(&f.maxEvents, "max-events", "events beyond so many are cut, taken or not (at first unlimited)")
	v.Var(&f.windowNamed, "window-named", "how long an event is known by a given ID, at least (at first 1h)")
	v.Var(&f.windowGenerated, "window-generated", "the same by a generated ID (at first 1m)")
	v.Var(&f.windowCount, "window-count", "events of one generation of these windows at most (at first 1000000)")
	quietDefaults(cmd, "capacity", "max-events", "window-count")
	completeWith(cmd, "on-full", fullWords)
	return cmd
}

// settings are what was given.
func (f *topicSettingsFlags) settings() topic.Settings {
	s := topic.Settings{
		Capacity: f.capacity.value(), Keep: f.keep.value(), MaxAge: f.maxAge.value(), MaxEvents: f.maxEvents.value(),
		WindowGenerated: f.windowGenerated.value(), WindowNamed: f.windowNamed.value(), WindowCount: f.windowCount.value(),
	}
	if f.onFull != "" {
		word := string(f.onFull)
		s.OnFull = &word
	}
	return s
}

func (a *app) topicSet(ctx context.Context, t *topic.Stream, name string, s topic.Settings) error {
	changes := s != (topic.Settings{})
	if changes {
		if err := t.Set(ctx, s); err != nil {
			return err
		}
	}
	s, err := t.Settings(ctx)
	switch {
	case err != nil && changes:
		return fmt.Errorf("the settings were changed, but can't be read back: %w", err)
	case err != nil:
		return err
	case a.json:
		return printJSON(a.stdout, topicSettingsOf(name, s))
	}
	return a.printRows(topicSettingsRows(name, s))
}

// topicSettingsObject is the object of a topic's settings; null = unlimited.
type topicSettingsObject struct {
	Topic             string `json:"topic"`
	Capacity          *int64 `json:"capacity"`
	OnFull            string `json:"on_full"`
	KeepMS            *int64 `json:"keep_ms"`
	MaxAgeMS          *int64 `json:"max_age_ms"`
	MaxEvents         *int64 `json:"max_events"`
	WindowNamedMS     *int64 `json:"window_named_ms"`
	WindowGeneratedMS *int64 `json:"window_generated_ms"`
	WindowCount       *int64 `json:"window_count"`
}

func topicSettingsOf(name string, s topic.Settings) topicSettingsObject {
	return topicSettingsObject{
		name, bound(s.Capacity), *s.OnFull, milliseconds(s.Keep), milliseconds(s.MaxAge), bound(s.MaxEvents),
		milliseconds(s.WindowNamed), milliseconds(s.WindowGenerated), bound(s.WindowCount),
	}
}

// topicSettingsRows are the lines in which people read settings, each as its flag takes it.
func topicSettingsRows(name string, s topic.Settings) [][]cell {
	rows := [][]cell{{{"topic", bold}, {text: name}}}
	add := func(name, value string) { rows = append(rows, []cell{{name, bold}, {text: value}}) }
	add("capacity", limitText(s.Capacity))
	add("on full", *s.OnFull)
	add("keep", spelled(s.Keep))
	add("max age", spelled(s.MaxAge))
	add("max events", limitText(s.MaxEvents))
	add("window named", spelled(s.WindowNamed))
	add("window generated", spelled(s.WindowGenerated))
	add("window count", limitText(s.WindowCount))
	return rows
}

// fullWords are what a full stream may do.
var fullWords = []string{topic.FullReject, topic.FullDetach}

// topicFullFlag is what a full stream does; "" = not given.
type topicFullFlag string

func (f *topicFullFlag) String() string { return string(*f) }
func (f *topicFullFlag) Type() string   { return "reject|detach" }

func (f *topicFullFlag) Set(s string) error {
	if s != topic.FullReject && s != topic.FullDetach {
		return fmt.Errorf("want %s or %s", topic.FullReject, topic.FullDetach)
	}
	*f = topicFullFlag(s)
	return nil
}
