package store

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
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
// call that is given up goes on alone and ends by the library's own timeouts. So do gives its answer back by value
// and writes nothing that the caller can read, and the caller changes nothing that do still reads.
func attend[T any](ctx context.Context, patience time.Duration, do func() (T, error)) (T, error) {
	if ctx.Done() == nil && patience == 0 {
		return do()
	}
	over := make(chan given[T], 1)
	go func() {
		value, err := do()
		over <- given[T]{value, err}
	}()
	var late <-chan time.Time
	if patience > 0 {
		t := time.NewTimer(patience)
		defer t.Stop()
		late = t.C
	}
	var none T
	select {
	case g := <-over:
		return g.value, g.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-late:
		return none, errNoAnswer
	}
}

type given[T any] struct {
	value T
	err   error
}

// command does a plain command as attend does, and gets past connections that were made without the password.
func command[T any](ctx context.Context, rdb redis.UniversalClient, do func() (T, error)) (T, error) {
	return admitted(ctx, do, func() ([]redis.Cmder, error) { return nil, rdb.Do(ctx, "QUIT").Err() })
}

// pipeline does the same for commands in a pipeline: the client library has connections of their own for them.
func pipeline[T any](ctx context.Context, rdb redis.UniversalClient, do func() (T, error)) (T, error) {
	return admitted(ctx, do, func() ([]redis.Cmder, error) {
		return rdb.Pipelined(ctx, func(p redis.Pipeliner) error { return p.Do(ctx, "QUIT").Err() })
	})
}

// admitted repeats a call that a server refused because it wants a password. It leaves the connection open, and the
// client library keeps it, also where its password came later: every call on it would fail. So quit closes it first; of
// a cluster it is a connection to any node.
func admitted[T any](ctx context.Context, do func() (T, error), quit func() ([]redis.Cmder, error)) (got T, err error) {
	for try := range tries {
		got, err = attend(ctx, 0, do)
		switch {
		case redis.HasErrorPrefix(err, "NOAUTH"):
			_, _ = attend(ctx, 0, quit)
		case try == 0 || !errors.Is(err, io.EOF): // after quit the library may meet the end of the connection
			return got, err
		}
	}
	return got, err
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
