package waybill

import (
	"errors"
	"time"

	"github.com/waybillhq/waybill/internal/runner"
)

// RetryAfter wraps a handler's error: the attempt failed, and the job is due again after d instead
// of what the retry policy says. It counts as a failure. Found also when wrapped with %w.
// A negative d counts as zero.
func RetryAfter(d time.Duration, err error) error {
	return &runner.Steer{End: runner.Retry, Delay: max(0, d), Err: orUnnamed(err)}
}

// Snooze returned by a handler puts its job off for d without counting a failure.
func Snooze(d time.Duration) error {
	return &runner.Steer{End: runner.Snooze, Delay: max(0, d), Err: errors.New("snoozed for " + d.String())}
}

// Dead wraps a handler's error that no retry can mend: the job is dead at once. It counts as a failure.
func Dead(err error) error { return &runner.Steer{End: runner.Dead, Err: orUnnamed(err)} }

// Cancel returned by a handler ends its job as cancelled, with a reason. It counts no failure.
func Cancel(reason string) error {
	return &runner.Steer{End: runner.Cancel, Err: errors.New(reason)}
}

// Steers tells how a handler's error ends its attempt, for middleware and tests: completed where it is nil, retry with
// the delay of RetryAfter or a negative one where the policy decides, snoozed with its delay, dead, or cancelled. A retry
// may yet be dead: the job's failures decide. What the context's end does to an attempt does not show here.
func Steers(err error) (AttemptOutcome, time.Duration) {
	var s *runner.Steer
	switch {
	case err == nil:
		return AttemptCompleted, 0
	case errors.As(err, &s):
		return outcomeOf(s.End), s.Delay
	}
	return AttemptRetry, -1
}

func orUnnamed(err error) error {
	if err == nil {
		return errors.New("no error given")
	}
	return err
}
