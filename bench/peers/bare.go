package main

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/enqueue.lua
	bareEnqueue string
	//go:embed lua/claim.lua
	bareClaim string
	//go:embed lua/settle.lua
	bareSettle string
)

// Keys of the bare layout: as long as Waybill's.
const (
	bareReady   = "wb:{default}:ready"
	bareLeases  = "wb:{default}:leases"
	bareRecords = "wb:{default}:job:"
)

const (
	bareBatch = 100                  // most jobs a call
	bareLoops = 2                    // calls of each verb under way
	bareLease = 30 * time.Second     // never renewed
	bareEmpty = 1 * time.Millisecond // pause after a claim that found nothing
)

// bare is the least that can be called a queue: it takes nothing back, tells nobody, checks and
// counts nothing. What many callers enqueue at once goes in common calls, as with Waybill.
type bare struct {
	rdb                       *redis.Client
	enqueues, claims, settles *redis.Script
	next                      atomic.Int64 // the last ID: as long as Waybill's
	asked                     chan ask
	senders                   sync.WaitGroup
}

// ask is one caller's job.
type ask struct {
	payload []byte
	said    chan error
}

func openBare(ctx context.Context, s *server) (contender, error) {
	b := &bare{
		rdb: s.connect(poolSize), enqueues: redis.NewScript(bareEnqueue), claims: redis.NewScript(bareClaim),
		settles: redis.NewScript(bareSettle), asked: make(chan ask, bareBatch),
	}
	for _, script := range []*redis.Script{b.enqueues, b.claims, b.settles} {
		if err := script.Load(ctx, b.rdb).Err(); err != nil {
			return nil, err
		}
	}
	for range bareLoops {
		b.senders.Go(func() { b.send(ctx) })
	}
	return b, nil
}

// send enqueues what callers ask for, everything that waits in one call.
func (b *bare) send(ctx context.Context) {
	for first := range b.asked {
		asks := gather(first, b.asked)
		payloads := make([][]byte, len(asks))
		for i, a := range asks {
			payloads[i] = a.payload
		}
		err := b.enqueueMany(ctx, payloads)
		for _, a := range asks {
			a.said <- err
		}
	}
}

// gather takes what stands in a channel behind its first item, and does not wait for more.
func gather[T any](first T, more <-chan T) []T {
	out := append(make([]T, 0, bareBatch), first)
	for len(out) < bareBatch {
		select {
		case next, ok := <-more:
			if !ok {
				return out
			}
			out = append(out, next)
		default:
			return out
		}
	}
	return out
}

func (b *bare) enqueue(_ context.Context, payload []byte) error {
	a := ask{payload, make(chan error, 1)}
	b.asked <- a
	return <-a.said
}

func (b *bare) enqueueMany(ctx context.Context, payloads [][]byte) error {
	args := make([]any, 1, 1+2*len(payloads))
	args[0] = bareRecords
	for _, p := range payloads {
		args = append(args, fmt.Sprintf("%019x", b.next.Add(1)), p)
	}
	n, err := b.enqueues.EvalSha(ctx, b.rdb, []string{bareReady}, args...).Int()
	return expect("enqueued", n, len(payloads), err)
}

func (b *bare) left(ctx context.Context) (int, error) {
	ready, err := b.rdb.LLen(ctx, bareReady).Result()
	if err != nil {
		return 0, err
	}
	leased, err := b.rdb.ZCard(ctx, bareLeases).Result()
	return int(ready + leased), err
}

func (b *bare) ended(context.Context) (int, bool, error) { return 0, false, nil }

func (b *bare) close() error {
	close(b.asked)
	b.senders.Wait()
	return b.rdb.Close()
}

// expect makes an error of a call that did less than it was asked for.
func expect(what string, got, want int, err error) error {
	if err == nil && got != want {
		err = fmt.Errorf("%s of %d", strconv.Itoa(got), want)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
