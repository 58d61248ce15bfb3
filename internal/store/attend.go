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

// leastPatience is how long the first try of a hasty verb is waited for: scripts take milliseconds. An enqueue brings
// more bytes.
const (
	leastPatience   = 500 * time.Millisecond
	enqueuePatience = 2 * time.Second
)

// errNoAnswer says that an answer was given up; it may still come, to nobody.
var errNoAnswer = errors.New("no answer in time")

// patience is how long the answer to a try is waited for, doubling; 0 = as long as the client library waits.
func (s *Store) patience(verb string, try int) time.Duration {
	switch {
	case s.unhurried:
		return 0
	case verb == "enqueue":
		return enqueuePatience << try
	case !slices.Contains(hasty, verb):
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

// probe asks all idle connections for a word, at most once a second. Where one connection was cut without a close the
// others mostly were too: those that hang are so kept from the next try, which gets a new one, and the client library
// drops them when its own timeouts are over.
func (s *Store) probe() {
	last, now := s.probed.Load(), time.Now().UnixNano()
	if now-last < int64(time.Second) || !s.probed.CompareAndSwap(last, now) {
		return
	}
	for range s.rdb.PoolStats().IdleConns {
		go s.rdb.Ping(context.Background()) // ends by the library's timeouts
	}
}
