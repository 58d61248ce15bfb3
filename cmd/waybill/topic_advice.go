package main

import (
	"fmt"

	"github.com/waybillhq/waybill/topic"
)

// topicAdvice is what to do where something is not as it should be, a line each.
func topicAdvice(s topic.Stats) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	full := s.Capacity != topic.Unlimited && s.Entries >= s.Capacity
	switch {
	case full:
		add("the stream is full (%s of %s), %s", thousands(s.Entries), thousands(s.Capacity), heldText(s))
	case len(s.Subscriptions) == 0 && s.Capacity == topic.Unlimited:
		add("nobody subscribes: topic subscribe %s/NAME; without a bound (topic set %s) events are refused", s.Topic, s.Topic)
	}
	for _, sub := range s.Subscriptions {
		lines = append(lines, subscriptionAdvice(s, sub)...)
	}
	for _, g := range s.Groups {
		switch {
		case g.Abandoned():
			add("group %s does nothing and holds %s: start its consumers, or XGROUP DESTROY it", oneLine(g.Name), grouped(g.Behind, "event"))
		case !g.Ignored.IsZero():
			add("group %s may miss events: since %s the stream is cut without it, to make room", oneLine(g.Name), moment(g.Ignored, s.At))
		}
	}
	return lines
}

// subscriptionAdvice is what to do about one subscription.
func subscriptionAdvice(s topic.Stats, sub topic.SubscriptionStats) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	name := s.Topic + "/" + oneLine(sub.Name)
	if !sub.Detached.IsZero() {
		add("%s is detached since %s: it takes nothing, and loses what the others take; attach it first (topic subscribe %s --attach), "+
			"then see why it was slow", name, moment(sub.Detached, s.At), name)
	}
	if sub.Lost > 0 {
		add("%s", lostText(name, sub))
	}
	if sub.Strange > 0 {
		add("%s passed by %s that publish did not write (XADD by hand?): such an entry reaches nobody, publish it", name,
			entryCount(sub.Strange))
	}
	if sub.Repeated > 0 {
		add("%s passed by %s that it had as jobs before: its place was set back", name, grouped(sub.Repeated, "event"))
	}
	return lines
}

// heldText says who holds a full stream, and what to do.
func heldText(s topic.Stats) string {
	number, group, sub := holder(s)
	more := fmt.Sprintf("or topic set %s --capacity N", s.Topic)
	switch {
	case group != nil:
		return fmt.Sprintf("held by group %s from event %s on: start its consumers, or XGROUP DESTROY it, %s", oneLine(group.Name),
			thousands(number), more)
	case sub != nil && sub.PausedBy != "":
		return fmt.Sprintf("held by %s/%s from event %s on, which is paused: queue resume, %s", s.Topic, oneLine(sub.Name),
			thousands(number), more)
	case sub != nil:
		return fmt.Sprintf("held by %s/%s from event %s on: start workers of it, %s", s.Topic, oneLine(sub.Name), thousands(number), more)
	case allDetached(s):
		return fmt.Sprintf("and all subscriptions are detached: attach one (topic subscribe %s/NAME --attach), %s", s.Topic, more)
	case len(s.Subscriptions) == 0:
		return fmt.Sprintf("and nobody takes its events: topic subscribe %s/NAME, %s", s.Topic, more)
	}
	return "and all have taken its events: they go with the next cut, or stay as --keep of topic set says; topic trim, " + more
}

// allDetached tells whether there are subscriptions, and none takes events.
func allDetached(s topic.Stats) bool {
	for _, sub := range s.Subscriptions {
		if sub.Detached.IsZero() {
			return false
		}
	}
	return len(s.Subscriptions) > 0
}

// holder is who holds the stream: a group or a subscription that wants the lowest of its events, and the number of that; neither
// where nobody wants one.
func holder(s topic.Stats) (number int64, group *topic.GroupStats, sub *topic.SubscriptionStats) {
	number = s.Published + 1
	for i, one := range s.Subscriptions {
		if wants := max(one.Taken+1, s.FirstNumber); one.Detached.IsZero() && one.Lag > 0 && wants < number {
			number, sub = wants, &s.Subscriptions[i]
		}
	}
	for i, one := range s.Groups {
		if wants := s.Published + 1 - one.Behind; one.Ignored.IsZero() && wants < number {
			number, group, sub = wants, &s.Groups[i], nil
		}
	}
	return number, group, sub
}

// lostText says what a subscription lost.
func lostText(name string, s topic.SubscriptionStats) string {
	text := fmt.Sprintf("%s lost %s that were cut before it took them", name, grouped(s.Lost, "event"))
	if s.Lost == 1 {
		text = name + " lost 1 event that was cut before it took it"
	}
	switch {
	case s.LostTo > s.LostFrom:
		text += fmt.Sprintf(", at last numbers %s to %s", thousands(s.LostFrom), thousands(s.LostTo))
	case s.LostTo > 0:
		text += ", at last number " + thousands(s.LostTo)
	}
	return text + ": bring them from where they came from (the count stays: alarm on its growth)"
}
