package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/waybillhq/waybill"
)

// lookEvery is how often the queues of --until-empty are looked at.
const lookEvery = 200 * time.Millisecond

// errEventsLeft: subscriptions have events to take, and can't.
var errEventsLeft = errors.New("events are left that can't be taken")

// untilEmpty waits until none of the queues holds work that can be taken, twice in a row: a job may put another one
// into a queue that was looked at before. It tells what is left. False where ctx ended first. Errors: errEventsLeft.
func untilEmpty(ctx context.Context, c *waybill.Client, queues []waybill.QueueOptions, log *slog.Logger) (bool, error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var left standing
	for times := 0; times < 2; {
		sum, empty, err := allEmpty(ctx, c, queues)
		switch {
		case err != nil:
			log.Debug("look whether the queues are empty", slog.Any(keyError, err)) // the worker tells of Redis
			times = 0
		case empty:
			times, left = times+1, sum
		default:
			times = 0
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-look.C:
		}
	}
	said := []slog.Attr{
		slog.Int64(keyScheduled, left.Scheduled), slog.Int64(keyRetry, left.Retry), slog.Int64(keyParked, left.Parked),
		slog.Int64(keySpilled, left.Spilled),
	}
	if left.lag > 0 {
		said = append(said, slog.Int64(keyLag, left.lag))
	}
	log.LogAttrs(ctx, slog.LevelInfo, "nothing is ready or active: stopping", said...)
	return true, left.stuckError()
}

// allEmpty tells whether all queues are empty, and then what waits in them all the same.
func allEmpty(ctx context.Context, c *waybill.Client, queues []waybill.QueueOptions) (left standing, empty bool, err error) {
	for _, q := range queues {
		s, err := standingOf(ctx, c, q)
		if err != nil || !isEmpty(s) {
			return left, false, err
		}
		left.Scheduled += s.Scheduled
		left.Retry += s.Retry
		left.Parked += s.Parked
		left.Spilled += s.Spilled
		left.lag += s.lag
		left.stuck = append(left.stuck, s.stuckText()...)
	}
	return left, true, nil
}

// isEmpty tells whether nothing is ready or active, nor spilled or to be taken from a topic's stream with room for it: the
// next claim takes that. A paused subscription takes nothing, however much there is.
func isEmpty(s standing) bool {
	if s.subscribed && s.PausedBy != "" {
		return s.Active == 0
	}
	return s.Ready == 0 && s.Active == 0 && (s.Spilled == 0 || !s.room()) && s.due() == 0 && !s.coming
}
