package topic

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// Unlimited lifts a bound.
const Unlimited = store.Unlimited

// Stats is how a topic stands.
type Stats struct {
	Topic       string
	At          time.Time // when it was read, by Redis's clock
	Published   int64     // number of the last event: events of a topic are numbered from 1
	Last        string    // ID of its entry in the stream
	Entries     int64     // in the stream
	First       string    // ID of the first event there; "" where there is none
	FirstNumber int64
	Capacity    int64 // entries; Unlimited where there is no bound

	// Since the topic's creation. Accepted counts events, Cut entries, Detached what was detached to make room.
	Accepted, Duplicates, Conflicts, Rejected, Cut, Detached int64
	// HorizonNamed and HorizonGenerated are how far back a repeated publish is known, for given and for generated IDs.
	HorizonNamed, HorizonGenerated time.Duration

	Subscriptions []SubscriptionStats // by name
	Groups        []GroupStats        // consumer groups that are not Waybill's
}

// SubscriptionStats is how a subscription stands.
type SubscriptionStats struct {
	Name   string
	Cursor string // ID of the last entry taken; "" where it was lost, until the next claim finds it
	Taken  int64  // number of the event there
	Lag    int64  // events in the stream that it has not taken: exact
	// Oldest is how long ago the first of these was published; negative where there is none.
	Oldest time.Duration
	// Jobs of events that were taken, by state.
	Ready, Active, Retry, Scheduled, Parked, Spilled, Dead int64
	// Lost counts events that were cut before the subscription took them, LostFrom to LostTo being the last range of them by
	// number. Of these no claim has met Gone yet.
	Lost, Gone, LostFrom, LostTo int64
	LostAt                       time.Time // when a claim met the last range; zero: never
	// Strange counts entries of the stream that were passed by since publish did not write them, Repeated events that were passed
	// by since they were jobs before: the cursor was set back. Both since the subscription's creation.
	Strange, Repeated int64
	Detached          time.Time // since when it takes nothing; zero: it takes part
	PausedBy          string    // "" = not paused
}

// GroupStats is how a consumer group that is not Waybill's stands.
type GroupStats struct {
	Name               string
	Consumers, Pending int64
	Wants              string        // the lowest ID that it has not acknowledged
	Behind             int64         // events in the stream from there on
	Oldest             time.Duration // since the first of them was published; negative where there is none
	Idle               time.Duration // since any of its consumers did anything; negative where it has none
	Ignored            time.Time     // since when the stream is cut without it, to make room; zero: it holds the stream
}

// abandonedAfter is how long a group may do nothing before it counts as abandoned.
const abandonedAfter = time.Hour

// Abandoned tells whether the group holds events that nobody reads: it is behind, and none of its consumers did anything for an
// hour, or it has none and the oldest event it wants is as old.
func (g GroupStats) Abandoned() bool {
	if g.Behind == 0 || !g.Ignored.IsZero() {
		return false
	}
	return g.Oldest >= abandonedAfter && (g.Idle < 0 || g.Idle >= abandonedAfter)
}

// Stats tells how the topic stands, in one call. One that nobody published to is empty. Errors: ErrInvalid, ErrUnavailable.
func (s *Stream) Stats(ctx context.Context) (Stats, error) {
	if s.err != nil {
		return Stats{}, s.err
	}
	t, err := s.t.Look(ctx)
	if err != nil {
		return Stats{}, err
	}
	out := Stats{
		Topic: t.Topic, At: t.Now, Published: t.Published, Last: t.Last, Entries: t.Entries, First: t.First, FirstNumber: t.FirstNumber,
		Capacity: t.Capacity, Accepted: t.Accepted, Duplicates: t.Duplicates, Conflicts: t.Conflicts, Rejected: t.Rejected,
		Cut: t.Cut, Detached: t.Detached, HorizonNamed: t.HorizonNamed, HorizonGenerated: t.HorizonGenerated,
	}
	for _, sub := range t.Subscriptions {
		out.Subscriptions = append(out.Subscriptions, SubscriptionStats(sub))
	}
	for _, g := range t.Groups {
		out.Groups = append(out.Groups, GroupStats(g))
	}
	return out, nil
}

// What a full stream does.
const (
	FullReject = store.FullRejects  // all publishers are told that the topic is full
	FullDetach = store.FullDetaches // the slowest subscription is detached, until there is room
)

// Settings of a topic to change; nil leaves a setting as it is. A bound is at least 1, or Unlimited.
type Settings struct {
	Capacity        *int64         // entries of the stream; default Unlimited
	OnFull          *string        // FullReject (default) or FullDetach
	Keep            *time.Duration // entries stay so long though all have taken them, for replays; default 0
	MaxAge          *time.Duration // older entries are cut, taken or not; default Unlimited
	MaxEvents       *int64         // entries beyond so many are cut, taken or not; default Unlimited
	WindowGenerated *time.Duration // how long a generated ID is known at least; default 60 s
	WindowNamed     *time.Duration // the same for given IDs; default 1 h
	WindowCount     *int64         // most events in a generation of the window; default 1,000,000
}

// Set changes settings. Errors: ErrInvalid, ErrUnavailable, ErrUnknown.
func (s *Stream) Set(ctx context.Context, o Settings) error {
	if s.err != nil {
		return s.err
	}
	return s.t.Set(ctx, store.TopicSettings(o))
}

// Settings gives all settings, none nil; what was never set has its default. Errors: ErrInvalid, ErrUnavailable.
func (s *Stream) Settings(ctx context.Context) (Settings, error) {
	if s.err != nil {
		return Settings{}, s.err
	}
	got, err := s.t.Settings(ctx)
	return Settings(got), err
}
