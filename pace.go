package waybill

import (
	"context"
	"time"
)

// pace slows a bulk change down: to a rate, or else so that it takes no more than a third of Redis's time.
type pace struct {
	rate  float64 // jobs a second; 0 = courtesy alone
	began time.Time
	next  time.Time // when the next job may be changed
}

// most is how many jobs are changed in one call: a tenth of a second's.
func (p *pace) most() int {
	if p.rate == 0 {
		return changeStep
	}
	return int(min(changeStep, max(1, p.rate/10)))
}

// wait lets the time of n jobs pass; false where ctx ended first.
func (p *pace) wait(ctx context.Context, n int) bool {
	if p.rate == 0 {
		return ctx.Err() == nil
	}
	if now := time.Now(); p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(min(float64(n)/p.rate, longest) * float64(time.Second)))
	return sleep(ctx, time.Until(p.next))
}

// longest is the longest pause in seconds: a duration ends at 292 years.
const longest = 1e9

// begin is the begin of a step.
func (p *pace) begin() { p.began = time.Now() }

// courtesy leaves twice as much time to others as the step took. With half of that their jobs were picked up more than twice
// as late as without (p99): bench/scale.
func (p *pace) courtesy(ctx context.Context) {
	if p.rate == 0 {
		sleep(ctx, 2*time.Since(p.began))
	}
}

// sleep lets time pass; false where ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
