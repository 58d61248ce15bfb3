package main

import (
	"context"
	"math"
	"slices"
	"time"
)

const (
	pickupEvery = 20 * time.Millisecond
	settleIn    = 500 * time.Millisecond // until a worker that has started is idle
)

// quantiles of durations, in ms.
type quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func quantilesOf(d []time.Duration) *quantiles {
	s := slices.Sorted(slices.Values(d))
	at := func(q float64) float64 {
		i := int(math.Ceil(q*float64(len(s)))) - 1
		return float64(s[max(0, i)]) / float64(time.Millisecond)
	}
	return &quantiles{at(0.5), at(0.99), at(1)}
}

// stamps are moments of jobs, since the measurement began.
type stamps struct{ called, returned, begun []time.Duration }

// pickup measures how soon an idle worker starts a job: one job at a time, at an even pace.
func pickup(ctx context.Context, s *stage) (trial, error) {
	at := stamps{make([]time.Duration, s.jobs), make([]time.Duration, s.jobs), make([]time.Duration, s.jobs)}
	var t trial
	base := time.Now()
	handle := func(p []byte) {
		now := time.Since(base)
		if i, ok := s.account.handle(p); ok {
			at.begun[i] = now
		}
	}
	err := s.working(ctx, handle, func(ctx context.Context) error {
		if !pause(ctx, settleIn) {
			return context.Cause(ctx)
		}
		var err error
		t, err = s.timed(ctx, s.jobs, func() error {
			if err := s.pace(ctx, base, at); err != nil {
				return err
			}
			return s.finished(ctx)
		})
		return err
	})
	if err != nil {
		return t, err
	}
	t.Rate, t.Concurrency = 0, s.concurrency // the rate is the pace
	t.FromReturn, t.FromCall = quantilesOf(differ(at.begun, at.returned)), quantilesOf(differ(at.begun, at.called))
	return t, s.balanced(ctx)
}

// pace enqueues a job at every tick and notes when.
func (s *stage) pace(ctx context.Context, base time.Time, at stamps) error {
	tick := time.NewTicker(pickupEvery)
	defer tick.Stop()
	for i := range s.jobs {
		p := s.payload(i)
		at.called[i] = time.Since(base)
		err := s.enqueue(ctx, p)
		at.returned[i] = time.Since(base)
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func differ(a, b []time.Duration) []time.Duration {
	out := make([]time.Duration, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
}

// pause waits; false where ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// idle measures what a worker with nothing to do sends and costs. One job goes before, so that
// the queue exists.
func idle(ctx context.Context, s *stage) (trial, error) {
	var t trial
	err := s.working(ctx, func(p []byte) { s.account.handle(p) }, func(ctx context.Context) error {
		if err := s.produce(ctx, 1); err != nil {
			return err
		}
		if err := s.finished(ctx); err != nil {
			return err
		}
		if !pause(ctx, settleIn) {
			return context.Cause(ctx)
		}
		before, err := s.read(ctx, false)
		if err != nil {
			return err
		}
		if !pause(ctx, s.idle) {
			return context.Cause(ctx)
		}
		after, err := s.read(ctx, true)
		t = idleTrial(before, after)
		return err
	})
	t.Concurrency = s.concurrency
	return t, err
}

func idleTrial(before, after usage) trial {
	seconds := after.at.Sub(before.at).Seconds()
	const asked = 2 // the INFO calls of the measurement lie between the two readings of the counter
	return trial{
		Seconds:     seconds,
		IdleSent:    (after.sent - before.sent) / seconds,
		IdleCarried: (after.commands - before.commands - asked) / seconds,
		IdleClient:  (after.client - before.client) / 1e6 / seconds * 100,
	}
}
