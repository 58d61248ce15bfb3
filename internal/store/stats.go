package store

import (
	"context"
	"fmt"
	"time"
)

// Stats is how a queue stands. Counts of now, then counters since the queue's creation.
// Accepted + Requeued = Completed + Died + Cancelled + Deleted + Live.
type Stats struct {
	Queue     string
	Now       time.Time // when it was read, by the server's clock
	Ready     int64     // claimable now; includes Urgent
	Urgent    int64     // of Ready: with a priority other than 0
	Scheduled int64     // due later: delayed or snoozed
	Retry     int64     // due later: after a failure or crash
	Parked    int64     // set aside by kind: no worker so far knew the kind or had room for it
	Active    int64     // under a lease
	Spilled   int64     // kept aside until there is room
	Dead      int64
	Kept      int64 // ended and still readable
	Workers   int64 // processes that claimed within the last 30 s
	Capacity  int64 // live jobs; Unlimited where there is no bound
	High      int64 // most live jobs ever, without the spilled; counted while there is a capacity
	// OldestReady is how long ago the oldest claimable job was enqueued; negative where there is none.
	OldestReady time.Duration
	PausedBy    string // "" = not paused
	// HorizonNamed and HorizonGenerated are how far back a repeated enqueue of an ended job is known,
	// for given and for generated IDs.
	HorizonNamed, HorizonGenerated time.Duration

	// Since the queue's creation. Accepted includes spilled jobs; Deleted counts live ones only.
	Accepted, Requeued, Completed, Died, Cancelled, Deleted int64
	// How deliveries ended, and settlements that were refused because the lease was lost.
	Deliveries, Failures, Crashes, Snoozes, Released, Stale int64
	// Enqueues that added nothing.
	Duplicates, Conflicts, Rejected int64
	// What became of effects, as attempts told it with their ends: applied, suppressed as duplicates, refused because a
	// receipt was of other work. An attempt that was lost told nothing.
	Effects, Suppressed, Mismatches int64
	DeadCut                         int64 // dead jobs forgotten over the limits of count and age
	Orphans                         int64 // leases and claimable elements found without a record: data was lost
}

// Live is the number of jobs that have not ended.
func (s Stats) Live() int64 {
	return s.Ready + s.Scheduled + s.Retry + s.Parked + s.Active + s.Spilled
}

// Stats tells how the queue stands.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	reply, _, err := q.call(ctx, "stats")
	if err != nil {
		return Stats{}, err
	}
	if len(reply)%2 != 1 {
		return Stats{}, fmt.Errorf("stats: %d values: %w", len(reply), errReply)
	}
	m := make(map[string]any, len(reply)/2)
	for i := 1; i < len(reply); i += 2 {
		m[text(reply[i])] = reply[i+1]
	}
	s := Stats{Queue: q.name, Now: moment(reply[0])}
	for name, p := range s.numbers() {
		*p = number(m[name])
	}
	s.Capacity = Unlimited
	if c := text(m["meta:capacity"]); c != "" && c != "unlimited" {
		s.Capacity = number(c)
	}
	s.PausedBy = text(m["meta:paused"])
	s.OldestReady = -1
	if at := moment(m["oldest"]); !at.IsZero() {
		s.OldestReady = max(0, s.Now.Sub(at))
	}
	s.HorizonGenerated, s.HorizonNamed = s.horizon(m, "gen"), s.horizon(m, "named")
	return s, nil
}

func (s *Stats) numbers() map[string]*int64 {
	return map[string]*int64{
		"ready": &s.Ready, "urgent": &s.Urgent, "scheduled": &s.Scheduled, "retry": &s.Retry, "parked": &s.Parked,
		"active": &s.Active, "spilled": &s.Spilled, "dead": &s.Dead, "kept": &s.Kept, "workers": &s.Workers,
		"meta:high": &s.High, "stats:accepted": &s.Accepted, "stats:requeued": &s.Requeued,
		"stats:completed": &s.Completed, "stats:died": &s.Died, "stats:cancelled": &s.Cancelled,
		"stats:deleted": &s.Deleted, "stats:deliveries": &s.Deliveries, "stats:failures": &s.Failures,
		"stats:crashes": &s.Crashes, "stats:snoozes": &s.Snoozes, "stats:released": &s.Released,
		"stats:stale": &s.Stale, "stats:duplicates": &s.Duplicates, "stats:conflicts": &s.Conflicts,
		"stats:effects": &s.Effects, "stats:suppressed": &s.Suppressed, "stats:mismatches": &s.Mismatches,
		"stats:rejected": &s.Rejected, "stats:dead_cut": &s.DeadCut, "stats:orphans": &s.Orphans,
	}
}

// horizon is the age of the older generation that is kept, or of the queue where there is none yet.
func (s *Stats) horizon(m map[string]any, name string) time.Duration {
	for _, field := range []string{name + "_before", "created"} {
		if at := moment(m["meta:"+field]); !at.IsZero() {
			return max(0, s.Now.Sub(at))
		}
	}
	return 0
}

// Register makes the queue's name known to those who list queues. Do it again and again: the
// list may be lost with Redis's last writes, and nothing depends on it but being seen.
func (q *Queue) Register(ctx context.Context) error {
	key, name := registryKey(q.store.prefix), q.name
	if topic, ok := TopicOf(name); ok {
		key, name = topicsKey(q.store.prefix), topic
	}
	_, err := command(ctx, q.store.rdb, func() (int64, error) {
		return q.store.rdb.SAdd(ctx, key, name).Result()
	})
	if err != nil {
		return fmt.Errorf("register queue %s: %w", q.name, err)
	}
	return nil
}

// Queues lists the names of all queues, in no order.
func (s *Store) Queues(ctx context.Context) ([]string, error) {
	return s.names(ctx, "queues", registryKey(s.prefix))
}

// Topics lists the names of all topics, in no order.
func (s *Store) Topics(ctx context.Context) ([]string, error) {
	return s.names(ctx, "topics", topicsKey(s.prefix))
}

func (s *Store) names(ctx context.Context, what, key string) ([]string, error) {
	names, err := command(ctx, s.rdb, func() ([]string, error) { return s.rdb.SMembers(ctx, key).Result() })
	if err != nil {
		return nil, readError(what, s.prefix, err)
	}
	return names, nil
}
