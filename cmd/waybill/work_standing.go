package main

import (
	"context"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/topic"
)

// standing is how a queue stands, with what its subscription has not taken yet where it is one's.
type standing struct {
	waybill.QueueStats
	lag      int64         // events that the subscription has not taken
	oldest   time.Duration // since the first of them was published
	detached bool          // it takes none
	coming   bool          // it is to be made, and is not there yet
}

// standingOf tells how a queue stands. A subscription is looked at before its queue, so that an event that is taken meanwhile is
// seen.
func standingOf(ctx context.Context, c *waybill.Client, q waybill.QueueOptions) (s standing, err error) {
	if of, name, ok := strings.Cut(q.Name, "/"); ok {
		all, err := topic.Open(c, of).Stats(ctx)
		if err != nil {
			return s, err
		}
		sub, err := subscription{of, name}.find(all)
		s.coming = err != nil && q.Subscribe != ""
		s.lag, s.oldest, s.detached = sub.Lag, sub.Oldest, !sub.Detached.IsZero()
	}
	s.QueueStats, err = c.Queue(q.Name).Stats(ctx)
	return s, err
}

// sayLag says how many events a subscription has not taken yet: they are no jobs of its queue.
func (a *app) sayLag(ctx context.Context, c *waybill.Client, queue string) {
	if !strings.Contains(queue, "/") {
		return
	}
	s, err := standingOf(ctx, c, waybill.QueueOptions{Name: queue})
	if of, _, _ := strings.Cut(queue, "/"); err == nil && s.lag > 0 {
		a.say("%s to take: topic stats %s", grouped(s.lag, "event"), of)
	}
}

// room tells whether the queue's capacity has room for one more job, when nothing is ready or active.
func (s standing) room() bool {
	return s.Capacity == waybill.Unlimited || s.Scheduled+s.Retry+s.Parked < s.Capacity
}

// due is how many events the next claims take.
func (s standing) due() int64 {
	if s.detached || !s.room() {
		return 0
	}
	return s.lag
}

// dueStats is how a queue stands with events that are to be taken among what is ready.
func dueStats(ctx context.Context, c *waybill.Client, q waybill.QueueOptions) (waybill.QueueStats, error) {
	s, err := standingOf(ctx, c, q)
	if n := s.due(); err == nil && n > 0 {
		s.Ready, s.OldestReady = s.Ready+n, max(s.OldestReady, s.oldest)
	}
	return s.QueueStats, err
}
