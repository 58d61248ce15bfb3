package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/topic"
)

// standing is how a queue stands, with what its subscription has not taken yet where it is one's.
type standing struct {
	waybill.QueueStats
	subscribed bool          // it is the queue of a subscription
	lag        int64         // events that the subscription has not taken
	oldest     time.Duration // since the first of them was published
	lost       int64         // events that were cut before it took them
	detached   bool          // it takes none
	coming     bool          // it is to be made, and is not there yet
	stuck      []string      // of several: which can't take what is there, and why
}

// standingOf tells how a queue stands. A subscription is looked at before its queue, so that an event that is taken meanwhile is
// seen.
func standingOf(ctx context.Context, c *waybill.Client, q waybill.QueueOptions) (s standing, err error) {
	topics := map[string]topic.Stats{}
	if of, _, ok := strings.Cut(q.Name, "/"); ok {
		if topics[of], err = topic.Open(c, of).Stats(ctx); err != nil {
			return s, err
		}
	}
	if s.QueueStats, err = c.Queue(q.Name).Stats(ctx); err != nil {
		return s, err
	}
	s.hear(topics)
	s.coming = !s.subscribed && q.Subscribe != ""
	return s, nil
}

// hear takes over how the subscription stands whose queue it is, from topics by name.
func (s *standing) hear(topics map[string]topic.Stats) {
	of, name, ok := strings.Cut(s.Queue, "/")
	if !ok {
		return
	}
	sub, err := subscription{of, name}.find(topics[of])
	s.subscribed = err == nil
	s.lag, s.oldest, s.lost, s.detached = sub.Lag, sub.Oldest, sub.Lost, !sub.Detached.IsZero()
}

// events says how the subscription stands whose queue it is; "" where it is none's.
func (s standing) events() string {
	if !s.subscribed {
		return ""
	}
	text := fmt.Sprintf("%s to take, %s lost", thousands(s.lag), thousands(s.lost))
	if s.detached {
		text += ", detached"
	}
	return text
}

// stuckText says why a subscription can't take the events that are there; empty where it can, or there are none.
func (s standing) stuckText() []string {
	held := grouped(s.lag, "event")
	switch {
	case s.detached && s.lag > 0:
		return []string{s.Queue + " is detached, " + held + " to take: topic subscribe " + s.Queue + " --attach"}
	case s.subscribed && s.PausedBy != "" && s.lag+s.Ready > 0:
		return []string{s.Queue + " is paused by " + oneLine(s.PausedBy) + ", " + held + " to take and " + fmt.Sprint(s.Ready) +
			" ready: queue resume " + s.Queue}
	}
	return nil
}

// stuckError is errEventsLeft with its reasons, nil where there is none.
func (s standing) stuckError() error {
	if len(s.stuck) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", errEventsLeft, strings.Join(s.stuck, "; "))
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
