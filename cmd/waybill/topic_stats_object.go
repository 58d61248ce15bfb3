package main

import (
	"time"

	"github.com/waybillhq/waybill/topic"
)

// topicObject is the object of a topic.
type topicObject struct {
	Topic              string               `json:"topic"`
	At                 *string              `json:"at"`
	Published          int64                `json:"published"`
	Last               *string              `json:"last"`
	Entries            int64                `json:"entries"`
	First              *string              `json:"first"`
	FirstNumber        *int64               `json:"first_number"`
	Capacity           *int64               `json:"capacity"`
	HorizonMS          int64                `json:"dedupe_horizon_ms"`
	HorizonGeneratedMS int64                `json:"dedupe_horizon_generated_ms"`
	Accepted           int64                `json:"accepted"`
	Duplicates         int64                `json:"duplicates"`
	Conflicts          int64                `json:"conflicts"`
	Rejected           int64                `json:"rejected"`
	Cut                int64                `json:"cut"`
	Detached           int64                `json:"detached"`
	Subscriptions      []subscriptionObject `json:"subscriptions"`
	Groups             []groupObject        `json:"groups"`
}

// subscriptionObject is the object of a subscription within that of its topic.
type subscriptionObject struct {
	Name       string  `json:"name"`
	Queue      string  `json:"queue"`
	Cursor     *string `json:"cursor"`
	Taken      int64   `json:"taken"`
	Lag        int64   `json:"lag"`
	OldestMS   *int64  `json:"oldest_ms"`
	Ready      int64   `json:"ready"`
	Active     int64   `json:"active"`
	Retry      int64   `json:"retry"`
	Scheduled  int64   `json:"scheduled"`
	Parked     int64   `json:"parked"`
	Spilled    int64   `json:"spilled"`
	Dead       int64   `json:"dead"`
	Lost       int64   `json:"lost"`
	LostFrom   *int64  `json:"lost_from"`
	LostTo     *int64  `json:"lost_to"`
	LostAt     *string `json:"lost_at"`
	Strange    int64   `json:"strange"`
	Repeated   int64   `json:"repeated"`
	Detached   bool    `json:"detached"`
	DetachedAt *string `json:"detached_at"`
	Paused     bool    `json:"paused"`
	PausedBy   *string `json:"paused_by"`
}

// groupObject is the object of a consumer group that is not Waybill's.
type groupObject struct {
	Name      string  `json:"name"`
	Consumers int64   `json:"consumers"`
	Pending   int64   `json:"pending"`
	Wants     *string `json:"wants"`
	Behind    int64   `json:"behind"`
	OldestMS  *int64  `json:"oldest_ms"`
	IdleMS    *int64  `json:"idle_ms"`
	Abandoned bool    `json:"abandoned"`
	Ignored   bool    `json:"ignored"`
	IgnoredAt *string `json:"ignored_at"`
}

func topicObjectOf(s topic.Stats) topicObject {
	o := topicObject{
		Topic: s.Topic, At: stampOf(s.At), Published: s.Published, Last: orNil(s.Last), Entries: s.Entries, First: orNil(s.First),
		FirstNumber: aboveZero(s.FirstNumber), Capacity: bound(&s.Capacity),
		HorizonMS: s.HorizonNamed.Milliseconds(), HorizonGeneratedMS: s.HorizonGenerated.Milliseconds(),
		Accepted: s.Accepted, Duplicates: s.Duplicates, Conflicts: s.Conflicts, Rejected: s.Rejected, Cut: s.Cut, Detached: s.Detached,
		Subscriptions: []subscriptionObject{}, Groups: []groupObject{},
	}
	for _, sub := range s.Subscriptions {
		o.Subscriptions = append(o.Subscriptions, subscriptionObjectOf(s.Topic, sub))
	}
	for _, g := range s.Groups {
		o.Groups = append(o.Groups, groupObject{
			g.Name, g.Consumers, g.Pending, orNil(g.Wants), g.Behind, ageMS(g.Oldest), ageMS(g.Idle), g.Abandoned(), !g.Ignored.IsZero(),
			stampOf(g.Ignored),
		})
	}
	return o
}

func subscriptionObjectOf(of string, s topic.SubscriptionStats) subscriptionObject {
	return subscriptionObject{
		Name: s.Name, Queue: of + "/" + s.Name, Cursor: orNil(s.Cursor), Taken: s.Taken, Lag: s.Lag, OldestMS: ageMS(s.Oldest),
		Ready: s.Ready, Active: s.Active, Retry: s.Retry, Scheduled: s.Scheduled, Parked: s.Parked, Spilled: s.Spilled, Dead: s.Dead,
		Lost: s.Lost, LostFrom: aboveZero(s.LostFrom), LostTo: aboveZero(s.LostTo), LostAt: stampOf(s.LostAt),
		Strange: s.Strange, Repeated: s.Repeated,
		Detached: !s.Detached.IsZero(), DetachedAt: stampOf(s.Detached), Paused: s.PausedBy != "", PausedBy: orNil(s.PausedBy),
	}
}

// ageMS is an age in milliseconds; negative = none.
func ageMS(d time.Duration) *int64 {
	if d < 0 {
		return nil
	}
	return milliseconds(&d)
}

// aboveZero is a number that counts from 1; 0 = none.
func aboveZero(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}
