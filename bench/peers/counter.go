package main

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"net"
	"regexp"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Verbs whose calls are told one by one.
const (
	verbEnqueue = "enqueue"
	verbClaim   = "claim"
	verbSettle  = "settle"
)

// scriptName finds the names of the files that a script was put together from. The last is the verb's.
var scriptName = regexp.MustCompile(`(?m)^-- ([a-z]+)\.lua `)

// counter is a client hook that counts the commands sent, and calls of scripts by verb. A verb is
// known when its script was loaded through the hook. It is safe for concurrent use.
type counter struct {
	mu    sync.Mutex
	total int
	calls map[string]int    // by digest of the script
	verbs map[string]string // digest to verb
}

func newCounter() *counter {
	return &counter{calls: map[string]int{}, verbs: map[string]string{}}
}

// DialHook leaves connections alone.
func (c *counter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook counts one command.
func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.note(cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts each command of a pipeline.
func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			c.note(cmd)
		}
		return next(ctx, cmds)
	}
}

func (c *counter) note(cmd redis.Cmder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total++
	args := cmd.Args()
	switch name := cmd.Name(); {
	case name == "evalsha" && len(args) > 1:
		if sha, ok := args[1].(string); ok {
			c.calls[sha]++
		}
	case name == "script" && len(args) > 2:
		if src, ok := args[2].(string); ok {
			c.learn(src)
		}
	}
}

func (c *counter) learn(src string) {
	names := scriptName.FindAllStringSubmatch(src, -1)
	if len(names) > 0 {
		sum := sha1.Sum([]byte(src))
		c.verbs[hex.EncodeToString(sum[:])] = names[len(names)-1][1]
	}
}

// read tells the calls so far, by verb, and of all commands.
func (c *counter) read() (verbs map[string]int, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	verbs = map[string]int{}
	for sha, n := range c.calls {
		verbs[c.verbs[sha]] += n
	}
	return verbs, c.total
}
