package dialect

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Bounds of the pauses between two tries of a transaction. They are jittered: two that lost against each other would
// else meet again.
const (
	leastPause = 5 * time.Millisecond
	mostPause  = 500 * time.Millisecond
)

// RetryError says that a transaction was run again and again, and never came through.
type RetryError struct {
	Fault Fault // of the last try
	Tries int
	Err   error // of the last try
}

func (e *RetryError) Error() string {
	return fmt.Sprintf("the transaction did not come through in %d tries: %v", e.Tries, e.Err)
}

// Unwrap gives the error of the last try.
func (e *RetryError) Unwrap() error { return e.Err }

// Retry runs once, which is one try of a transaction, until it succeeds, fails for good, ctx ends or the time is over.
// told hears of each try that is to be repeated. Errors: what once said, or a RetryError where it could be run again.
func (d Dialect) Retry(ctx context.Context, most time.Duration, told func(Fault, error), once func(context.Context) error) error {
	began, pause := time.Now(), leastPause
	for tries := 1; ; tries++ {
		err := once(ctx)
		fault := d.Fault(err)
		if err == nil || fault == Other || fault == Missing || ctx.Err() != nil {
			return err
		}
		told(fault, err)
		if time.Since(began) >= most {
			return &RetryError{Fault: fault, Tries: tries, Err: Own(err)}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w, while a transaction was to be run again: %w", context.Cause(ctx), Own(err))
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, mostPause)
	}
}

// Own is a user's error as the user gave it, without our mark on it; another one stays as it is.
func Own(err error) error {
	var foreign *ForeignError
	if errors.As(err, &foreign) {
		return foreign.Err
	}
	return err
}
