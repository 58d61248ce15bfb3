package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// bellSlack is how much longer than the server the client waits for the bell. A server's
// blocking timeouts follow its wall clock, so the read needs a deadline of its own.
const bellSlack = 500 * time.Millisecond

// Bounds of Ears. Each listener holds a connection; a call with more queues would be slow to begin.
const (
	mostListeners = 8
	mostBells     = 128
)

// Ears is how many Listen calls the caller may have under way at a time, so that at least half of the client's pool
// is left to the calls that claim, renew and settle; and how many queues each may name. A client that is not known to
// speak to a single node listens to one queue a call: bells in different slots can't be waited for together.
func (s *Store) Ears() (listeners, queues int) {
	switch rdb := s.rdb.(type) {
	case interface{ Options() *redis.Options }:
		return min(max(1, rdb.Options().PoolSize/2), mostListeners), mostBells
	case *redis.ClusterClient:
		return min(max(1, rdb.Options().PoolSize/2), mostListeners), 1
	}
	return mostListeners, 1
}

// Listen waits for the bells of queues, at most d, and takes one token. It gives the name of the queue that rang; "": none
// did. Where several ring it is the first of names, so who listens again puts that one last. The bounds of Ears are
// the caller's to keep. It is sent once, and not under a cancellable context: a token taken is not to be lost.
// Errors: record.ErrInvalid, and what the client says.
func (s *Store) Listen(ctx context.Context, names []string, d time.Duration) (string, error) {
	d = max(d, time.Millisecond) // 0 would be for ever
	if len(names) == 0 {
		wait(ctx, d)
		return "", nil
	}
	args, queues := []any{"BLPOP"}, make(map[string]string, len(names))
	for _, name := range names {
		if err := CheckQueue(name); err != nil {
			return "", err
		}
		key := bell(tag(s.prefix, name))
		args, queues[key] = append(args, key), name
	}
	rang, err := s.blockingPop(ctx, append(args, strconv.FormatFloat(d.Seconds(), 'f', 3, 64)), d+bellSlack)
	if err != nil {
		return "", fmt.Errorf("listen %q: %w", strings.Join(names[:min(len(names), 3)], " "), err)
	}
	return queues[rang], nil
}

// blockingPop sends a BLPOP with a read deadline of its own. It gives the key of what came; "" where nothing did.
func (s *Store) blockingPop(ctx context.Context, args []any, deadline time.Duration) (string, error) {
	first, _ := args[1].(string)
	rdb, err := s.patient(ctx, first, deadline)
	if err != nil {
		return "", err
	}
	cmd := once{redis.NewCmd(ctx, args...)}
	if err := rdb.Process(context.WithoutCancel(ctx), cmd); errors.Is(err, redis.Nil) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	got, err := cmd.Slice()
	if err != nil || len(got) != 2 {
		return "", fmt.Errorf("%d values: %w", len(got), errReply)
	}
	return text(got[0]), nil
}

// Ring puts a token into the bell that a listener took and did not use.
func (q *Queue) Ring(ctx context.Context) error {
	_, _, err := q.call(ctx, "ring")
	return err
}

func bell(tag string) string { return tag + "bell" }

func (q *Queue) bell() string { return bell(q.tag) }

type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// patient is the client with another read timeout, on the node that holds a key.
func (s *Store) patient(ctx context.Context, key string, d time.Duration) (processor, error) {
	switch rdb := s.rdb.(type) {
	case *redis.Client:
		return rdb.WithTimeout(d), nil
	case *redis.ClusterClient:
		node, err := rdb.MasterForKey(ctx, key)
		if err != nil {
			return nil, err
		}
		return node.WithTimeout(d), nil
	}
	return s.rdb, nil
}
