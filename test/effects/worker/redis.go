package main

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/test/effects"
)

// hook watches the settlements on their way to Redis.
type hook struct {
	trap   *trap
	settle []string // the script's digests
}

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if len(args) < 2 || args[0] != "EVALSHA" {
			return next(ctx, cmd)
		}
		if sha, _ := args[1].(string); !slices.Contains(h.settle, sha) {
			return next(ctx, cmd)
		}
		a := h.trap.settling(args)
		h.trap.reach(a, effects.Settling)
		err := next(ctx, cmd)
		switch {
		case a == nil || redis.HasErrorPrefix(err, "NOSCRIPT"): // the script is loaded, and it is sent again
		case err != nil:
			h.trap.reach(a, effects.Unanswered)
		default:
			h.trap.settled(a)
		}
		return err
	}
}
