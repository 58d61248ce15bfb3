package store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// TopicStats is how a topic stands.
type TopicStats struct {
	Topic       string
	Now         time.Time // when it was read, by the server's clock
	Published   int64     // number of the last event
	Last        string    // its ID in the stream
	Entries     int64     // in the stream, also such that publish did not write
	First       string    // ID of the first event in the stream; "" where there is none
	FirstNumber int64
	Capacity    int64 // entries; Unlimited where there is no bound

	// Since the topic's creation. Accepted counts events; Cut entries.
	Accepted, Duplicates, Conflicts, Rejected, Cut, Detached int64
	// HorizonNamed and HorizonGenerated are how far back a repeated publish is known, for given and for generated IDs.
	HorizonNamed, HorizonGenerated time.Duration

	Subscriptions []SubscriptionStats // by name
	Groups        []GroupStats        // consumer groups of others
}

// SubscriptionStats is how a subscription stands.
type SubscriptionStats struct {
	Name   string
	Cursor string // ID of the last entry taken; "" where it is lost, until the next claim
	Taken  int64  // number of the event there
	Lag    int64  // events in the stream that it has not taken
	// Oldest is how long ago the first of them was published; negative where there is none.
	Oldest                                           time.Duration
	Ready, Active, Retry, Scheduled, Parked, Spilled int64 // jobs of events that were taken
	Dead                                             int64
	// Lost counts events that were cut before they were taken, LostFrom to LostTo being the last range of them, by number.
	// Of these Gone were not met by a claim yet.
	Lost, Gone, LostFrom, LostTo int64
	LostAt                       time.Time // zero: never, or not met yet
	// Strange counts entries passed by that publish did not write, Repeated events passed by that were jobs before.
	Strange, Repeated int64
	Detached          time.Time // zero: it takes part
	PausedBy          string    // "" = not paused
}

// GroupStats is how a consumer group of somebody else's stands.
type GroupStats struct {
	Name               string
	Consumers, Pending int64
	Wants              string        // lowest ID that it still wants
	Behind             int64         // events in the stream from there on
	Oldest             time.Duration // since the first of them was published; negative where there is none
	Idle               time.Duration // since any of its consumers did anything; negative where it has none
	Ignored            time.Time     // when the stream was cut without it, to make room; zero: it holds the stream
}

// Look tells how the topic stands. One that nobody published to is empty. Errors: as any call that reads.
func (t *Topic) Look(ctx context.Context) (TopicStats, error) {
	reply, _, err := t.call(ctx, "topic")
	if err != nil {
		return TopicStats{}, err
	}
	if len(reply) != 4 {
		return TopicStats{}, fmt.Errorf("topic %q: %d values: %w", t.topic, len(reply), errReply)
	}
	m := pairs(reply[1])
	s := TopicStats{
		Topic: t.topic, Now: moment(reply[0]), Published: number(m["meta:n"]), Last: text(m["meta:last"]),
		Entries: number(m["entries"]), First: text(m["first"]), FirstNumber: number(m["first_n"]), Capacity: Unlimited,
		Accepted: number(m["stats:accepted"]), Duplicates: number(m["stats:duplicates"]), Conflicts: number(m["stats:conflicts"]),
		Rejected: number(m["stats:rejected"]), Cut: number(m["stats:cut"]), Detached: number(m["stats:detached"]),
	}
	if c := text(m["meta:capacity"]); c != "" && c != unlimited {
		s.Capacity = number(c)
	}
	q := Stats{Now: s.Now}
	s.HorizonGenerated, s.HorizonNamed = q.horizon(m, "gen"), q.horizon(m, "named")
	subs, _ := reply[2].([]any)
	for _, flat := range subs {
		s.Subscriptions = append(s.Subscriptions, subscriptionStats(pairs(flat), s.Now))
	}
	groups, _ := reply[3].([]any)
	for _, flat := range groups {
		s.Groups = append(s.Groups, groupStats(pairs(flat), s.Now))
	}
	return s, nil
}

func subscriptionStats(m map[string]any, now time.Time) SubscriptionStats {
	s := SubscriptionStats{
		Name: text(m["name"]), Cursor: text(m["cursor"]), PausedBy: text(m["paused"]), LostAt: moment(m["lost_at"]),
		Detached: moment(m["detached"]), Oldest: age(now, m["oldest"]),
	}
	for name, p := range map[string]*int64{
		"taken_n": &s.Taken, "lag": &s.Lag, "ready": &s.Ready, "active": &s.Active, "retry": &s.Retry, "scheduled": &s.Scheduled,
		"parked": &s.Parked, "spilled": &s.Spilled, "dead": &s.Dead, "lost": &s.Lost, "gone": &s.Gone, "strange": &s.Strange, "repeated": &s.Repeated,
		"lost_from": &s.LostFrom, "lost_to": &s.LostTo,
	} {
		*p = number(m[name])
	}
	return s
}

func groupStats(m map[string]any, now time.Time) GroupStats {
	g := GroupStats{
		Name: text(m["name"]), Consumers: number(m["consumers"]), Pending: number(m["pending"]), Wants: text(m["wants"]),
		Behind: number(m["behind"]), Oldest: age(now, m["oldest"]), Idle: -1, Ignored: moment(m["ignored"]),
	}
	if idle := text(m["idle"]); idle != "" {
		g.Idle = time.Duration(number(idle)) * time.Millisecond
	}
	return g
}

// age is how long before now a time was; negative where there is none.
func age(now time.Time, at any) time.Duration {
	then := moment(at)
	if then.IsZero() {
		return -1
	}
	return max(0, now.Sub(then))
}

// pairs reads a flat list of names and values.
func pairs(v any) map[string]any {
	flat, _ := v.([]any)
	m := make(map[string]any, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		m[strings.Clone(text(flat[i]))] = flat[i+1]
	}
	return m
}
