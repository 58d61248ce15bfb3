package store

import (
	"context"
	"errors"
	"slices"
	"time"
)

// hasty are the verbs that are sent again, on another connection, when an answer is late: a connection cut without
// a close would else hold a worker up for as long as the client library waits, once for each such connection in
// its pool. Their calls are small, and a late copy of them changes nothing.
var hasty = []string{"claim", "settle", "renew", "progress", "ends"}

// leastPatience is how long the first try of a hasty verb is waited for. Scripts take milliseconds.
const leastPatience = 500 * time.Millisecond

// errNoAnswer says that an answer was given up; it may still come, to nobody.
var errNoAnswer = errors.New("no answer in time")

// patience is how long the answer to a try is waited for, doubling; 0 = as long as the client library waits.
func (s *Store) patience(verb string, try int) time.Duration {
	if s.unhurried || !slices.Contains(hasty, verb) {
		return 0
	}
	return leastPatience << try
}

// attend does a call and returns when it is over, when ctx ends, or after patience (0 = without bound), whatever
// comes first. The client library looks at a context before it sends, not while it waits for the answer; a
// call that is given up goes on alone and ends by the library's own timeouts.
func attend(ctx context.Context, patience time.Duration, do func() error) error {
	if ctx.Done() == nil && patience == 0 {
		return do()
	}
	over := make(chan error, 1)
	go func() { over <- do() }()
	var late <-chan time.Time
	if patience > 0 {
		t := time.NewTimer(patience)
		defer t.Stop()
		late = t.C
	}
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
		return errNoAnswer
	}
}
