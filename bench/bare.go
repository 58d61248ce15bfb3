package main

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/enqueue.lua
	bareEnqueue string
	//go:embed lua/claim.lua
	bareClaim string
	//go:embed lua/ack.lua
	bareAck string
)

// Keys of the bare layout: as long as the store's.
const (
	bareReady   = "wb:{bench}:ready"
	bareLeases  = "wb:{bench}:leases"
	bareRecords = "wb:{bench}:job:"
)

// bare is the layout without promises.
type bare struct {
	rdb               *redis.Client
	enq, claims, acks *redis.Script
	held              []any // id and attempt of each job that is claimed
}

func newBare(_ context.Context, rdb *redis.Client) (subject, error) {
	return &bare{
		rdb: rdb,
		enq: redis.NewScript(bareEnqueue), claims: redis.NewScript(bareClaim), acks: redis.NewScript(bareAck),
	}, nil
}

func (b *bare) enqueue(ctx context.Context, jobs []job) error {
	args := make([]any, 1, 1+2*len(jobs))
	args[0] = bareRecords
	for _, j := range jobs {
		args = append(args, j.id, j.payload)
	}
	n, err := b.enq.Run(ctx, b.rdb, []string{bareReady}, args...).Int()
	return expect("enqueued", n, len(jobs), err)
}

func (b *bare) claim(ctx context.Context, n int) error {
	reply, err := b.claims.Run(ctx, b.rdb, []string{bareReady, bareLeases},
		bareRecords, n, strconv.FormatInt(lease.Milliseconds(), 10)).Slice()
	for i := 0; i+2 < len(reply); i += 3 {
		b.held = append(b.held, reply[i], reply[i+1])
	}
	return expect("claimed", len(reply)/3, n, err)
}

func (b *bare) settle(ctx context.Context, n int) error {
	args := append([]any{bareRecords}, b.held[:2*n]...)
	b.held = b.held[2*n:]
	done, err := b.acks.Run(ctx, b.rdb, []string{bareLeases}, args...).Int()
	return expect("settled", done, n, err)
}

// expect makes an error of a call that did less than it was asked for.
func expect(what string, got, want int, err error) error {
	if err == nil && got != want {
		err = fmt.Errorf("%d of %d", got, want)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
