package main

import (
	"fmt"

	"github.com/waybillhq/waybill/topic"
)

// topicRows are the lines in which people read one topic, but for its subscriptions.
func topicRows(s topic.Stats) [][]cell {
	rows := [][]cell{{{"topic", bold}, {text: s.Topic}}}
	add := func(name, text string) { rows = append(rows, []cell{{name, bold}, {text: text}}) }
	add("events", fmt.Sprintf("%s so far", thousands(s.Published)))
	stream := entryCount(s.Entries)
	if s.First != "" {
		stream += fmt.Sprintf(", events %s to %s", thousands(s.FirstNumber), thousands(s.Published))
	}
	if s.Capacity != topic.Unlimited {
		stream += ", at most " + thousands(s.Capacity)
	}
	add("stream", stream)
	if s.First != "" {
		add("from", s.First)
		add("to", s.Last)
	}
	add("not added", fmt.Sprintf("%s, %s, %d rejected", count(s.Duplicates, "duplicate"), count(s.Conflicts, "conflict"), s.Rejected))
	add("cut", entryCount(s.Cut)+" so far")
	if len(s.Subscriptions) == 0 {
		add("subscriptions", "none")
	}
	return rows
}

// entryCount is so many entries of a stream.
func entryCount(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return thousands(n) + " entries"
}

// subscriptionRows are the table of subscriptions.
func subscriptionRows(s topic.Stats) [][]cell {
	rows := [][]cell{heads("SUBSCRIPTION", "LAG", "OLDEST", "ACTIVE", "READY", "RETRY", "DEAD", "LOST", "STATE")}
	for _, sub := range s.Subscriptions {
		state, colour := subscriptionState(sub)
		rows = append(rows, []cell{
			{text: s.Topic + "/" + oneLine(sub.Name)},
			number(sub.Lag, yellow),
			{text: ageOrNone(sub.Oldest)},
			number(sub.Active, green),
			number(sub.Ready, ""),
			number(sub.Retry, yellow),
			number(sub.Dead, red),
			number(sub.Lost, red),
			{state, colour},
		})
	}
	return rows
}

// subscriptionState is what a subscription does, for people.
func subscriptionState(s topic.SubscriptionStats) (text, colour string) {
	switch {
	case !s.Detached.IsZero():
		return "detached", red
	case s.PausedBy != "":
		return "paused by " + oneLine(s.PausedBy), yellow
	}
	return "attached", ""
}

// groupRows are the table of consumer groups that are not Waybill's.
func groupRows(s topic.Stats) [][]cell {
	rows := [][]cell{heads("GROUP", "BEHIND", "OLDEST", "PENDING", "CONSUMERS", "IDLE", "STATE")}
	for _, g := range s.Groups {
		state, colour := groupState(g)
		rows = append(rows, []cell{
			{text: oneLine(g.Name)},
			number(g.Behind, yellow),
			{text: ageOrNone(g.Oldest)},
			number(g.Pending, ""),
			number(g.Consumers, ""),
			{text: ageOrNone(g.Idle)},
			{state, colour},
		})
	}
	return rows
}

// groupState is what a consumer group does to the stream, for people.
func groupState(g topic.GroupStats) (text, colour string) {
	switch {
	case !g.Ignored.IsZero():
		return "no longer waited for", red
	case g.Abandoned():
		return "abandoned", red
	}
	return "not Waybill's", ""
}
