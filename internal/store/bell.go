package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// bellSlack is how much longer than the server the client waits for the bell. A server's
// blocking timeouts follow its wall clock, so the read needs a deadline of its own.
const bellSlack = 500 * time.Millisecond

// Listen waits for the bell, at most d, and takes its token. True: it rang. Each listener holds a connection, so
// at most half of the client's pool listens at a time; who is over that only waits.
// It is sent once and not under a cancellable context: a token taken is not to be lost.
func (q *Queue) Listen(ctx context.Context, d time.Duration) (bool, error) {
	d = max(d, time.Millisecond) // 0 would be for ever
	select {
	case q.store.ears <- struct{}{}:
		defer func() { <-q.store.ears }()
	default: // the rest of the pool is for calls that claim, renew and settle: the caller's timer does without the bell
		wait(ctx, d)
		return false, nil
	}
	seconds := strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
	rdb, err := q.patient(ctx, d+bellSlack)
	if err != nil {
		return false, fmt.Errorf("listen %q: %w", q.name, err)
	}
	cmd := once{redis.NewCmd(ctx, "BLPOP", q.bell(), seconds)}
	err = rdb.Process(context.WithoutCancel(ctx), cmd)
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("listen %q: %w", q.name, err)
	}
	return true, nil
}

// Ring puts a token into the bell that a listener took and did not use.
func (q *Queue) Ring(ctx context.Context) error {
	_, _, err := q.call(ctx, "ring")
	return err
}

func (q *Queue) bell() string { return q.tag + "bell" }

// listeners is how many may hold a connection at a time: half of the pool, or 10 where it can't be known.
func listeners(rdb redis.UniversalClient) int {
	if c, ok := rdb.(interface{ Options() *redis.Options }); ok {
		return max(1, c.Options().PoolSize/2)
	}
	return 10
}

type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// patient is the client with another read timeout, on the node that holds the queue.
func (q *Queue) patient(ctx context.Context, d time.Duration) (processor, error) {
	switch rdb := q.store.rdb.(type) {
	case *redis.Client:
		return rdb.WithTimeout(d), nil
	case *redis.ClusterClient:
		node, err := rdb.MasterForKey(ctx, q.bell())
		if err != nil {
			return nil, err
		}
		return node.WithTimeout(d), nil
	}
	return q.store.rdb, nil
}
