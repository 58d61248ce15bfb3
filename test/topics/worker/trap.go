package main

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	topictest "github.com/waybillhq/waybill/test/topics"
)

// trap kills the process where it comes to a boundary.
type trap struct {
	die   topictest.Boundary
	first bool
	from  time.Time

	mu sync.Mutex // held by the one that dies
}

func newTrap(o topictest.Orders) *trap {
	t := &trap{die: o.Die, first: o.DieFirst, from: time.Now().Add(o.DieAfter)}
	if o.Die == topictest.Either {
		either := []topictest.Boundary{topictest.Entered, topictest.Committed}
		t.die = either[rand.New(rand.NewPCG(o.Seed, 0)).IntN(len(either))]
	}
	return t
}

// reach notes that an attempt of a number has come to a boundary.
func (t *trap) reach(b topictest.Boundary, attempt int) {
	if b != t.die || t.first && attempt != 1 || time.Now().Before(t.from) {
		return
	}
	t.mu.Lock()
	say(topictest.Said{At: b})
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill() // SIGKILL
	}
	select {} // nothing after this line may run until the signal is there
}

// hook watches the claims on their way to Redis.
type hook struct {
	trap  *trap
	claim []string // the script's digests
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
		if sha, _ := args[1].(string); slices.Contains(h.claim, sha) {
			h.trap.reach(topictest.Unanswered, 1)
		}
		return err
	}
}
