package runner

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// Attempt is one claim of a job, as the handler's side sees it.
type Attempt struct {
	store.Delivery
	Rec record.Record

	runner *Runner
	member string
	ctx    attemptContext
	came   time.Time // when the claim was answered, by this process's clock
	damage error     // of the record
	lost   atomic.Bool
	deaf   atomic.Bool
	told   effects // by the handler
	gated  bool    // the gate of suspects is this attempt's, until its end is recorded or given up
	// how long the handler took, and the job waited for it; its goroutine's
	took, waited time.Duration

	done bool // the handler is over, or was given up; guarded by Runner.mu
}

func (r *Runner) newAttempt(work context.Context, d store.Delivery, now time.Time) *Attempt {
	a := &Attempt{Delivery: d, runner: r, member: d.Member(), came: now}
	a.ctx.parent, a.ctx.began = work, now
	if a.Rec, a.damage = record.Parse(d.Record); a.damage != nil {
		a.Rec.Keep = record.LostKeep
	}
	return a
}

// ClaimedAt is when the attempt was claimed, by Redis's clock.
func (a *Attempt) ClaimedAt() time.Time {
	return a.Deadline.Add(-a.runner.o.Lease.Truncate(time.Millisecond)) // as the claim names it
}

// serverNow is Redis's clock as far as this process can tell: that of the claim, and the time since.
func (a *Attempt) serverNow() time.Time {
	return a.ClaimedAt().Add(time.Since(a.came))
}

// Stopping is closed when the runner begins to stop.
func (a *Attempt) Stopping() <-chan struct{} { return a.runner.stopping }

// Check asks whether the attempt still holds the job, and renews its lease if so. Errors: ErrLeaseLost,
// ErrCancelled, store.ErrUnavailable, store.ErrUnknown.
func (a *Attempt) Check(ctx context.Context) error {
	said, err := a.runner.o.Queue.Renew(ctx, a.runner.o.Lease, []string{a.member})
	if err != nil {
		return fmt.Errorf("check job %q: %w", a.ID, err)
	}
	return a.runner.told(a, said[0])
}

// Progress notes how far the attempt has come: 0 to 100 percent, and a line of text. Errors: record.ErrInvalid before
// anything is sent; else as Check.
func (a *Attempt) Progress(ctx context.Context, percent int, note string) error {
	if err := CheckProgress(percent, note); err != nil {
		return err
	}
	said, err := a.runner.o.Queue.Progress(ctx, a.member, percent, note)
	if err != nil {
		return fmt.Errorf("progress of job %q: %w", a.ID, err)
	}
	return a.runner.told(a, said)
}

// CheckProgress checks what is told of a progress. Errors: record.ErrInvalid.
func CheckProgress(percent int, note string) error {
	if percent < 0 || percent > 100 {
		return &record.InputError{Field: "percent", Why: fmt.Sprintf("is %d: from 0 to 100", percent)}
	}
	return record.CheckLine("note", note)
}

// Running is an attempt whose handler runs, for people to look at.
type Running struct {
	Queue, ID, Kind string
	Number          int
	Since           time.Time
	Deaf            bool
	InDoubt         bool
}

// Running gives the attempts whose handlers run, those too that were given up.
func (r *Runner) Running() []Running {
	doubt := r.doubt() || r.overslept()
	var out []Running
	for _, a := range r.attempts() {
		out = append(out, Running{
			Queue: r.o.Name, ID: a.ID, Kind: a.Rec.Kind, Number: a.Delivery.Attempt, Since: a.came, Deaf: a.deaf.Load(), InDoubt: doubt,
		})
	}
	return out
}
