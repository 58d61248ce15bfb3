package main

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/boundary"
	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

// trap kills the process where it comes to a boundary.
type trap struct {
	die    outboxtest.Boundary
	chance int

	mu   sync.Mutex
	rand *rand.Rand
	up   bool
}

func newTrap(o outboxtest.Orders) *trap {
	return &trap{die: o.Die, chance: o.Chance, rand: rand.New(rand.NewPCG(o.Seed, 0))}
}

// watch gives a context in which the trap hears of the boundaries.
func (t *trap) watch(ctx context.Context) context.Context {
	return boundary.With(ctx, func(name string) { t.reach(outboxtest.Boundary(name)) })
}

func (t *trap) reach(b outboxtest.Boundary) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.up {
		t.up = true
		say(outboxtest.Said{Up: true})
	}
	if b != t.die && (t.chance == 0 || t.rand.IntN(t.chance) > 0) {
		return
	}
	say(outboxtest.Said{At: b})
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill() // SIGKILL
	}
	select {} // nothing after this line may run until the signal is there
}

// hook watches the enqueues on their way to Redis.
type hook struct {
	trap    *trap
	enqueue []string // the script's digests
}

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		args := cmd.Args()
		if err == nil || len(args) < 2 || redis.HasErrorPrefix(err, "NOSCRIPT") {
			return err
		}
		if sha, _ := args[1].(string); slices.Contains(h.enqueue, sha) {
			h.trap.reach(outboxtest.ReplyDropped)
		}
		return err
	}
}
