package main

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// cut takes a piece out of a script, or puts another in its place. File is the one of the store's
// lua/ that holds the piece, exactly once.
type cut struct{ file, old, new string }

var errNoFit = errors.New("a cut does not fit the store's scripts any more")

// errUnknown is what a server answers to a script that it has not loaded.
type errUnknown struct{}

func (errUnknown) Error() string { return "NOSCRIPT not loaded through the cutter" }
func (errUnknown) RedisError()   {}

// cutter is a hook of a client. It cuts the scripts that the client loads and calls them in
// place of the whole ones. It is not safe for concurrent use.
type cutter struct {
	cuts   []cut
	done   []bool            // for each cut: found in a script
	loaded map[string]string // digest of a whole script to that of the cut one
}

func newCutter(cuts []cut) *cutter {
	return &cutter{cuts: cuts, done: make([]bool, len(cuts)), loaded: map[string]string{}}
}

// DialHook leaves connections alone.
func (c *cutter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessPipelineHook leaves pipelines alone: the store sends no scripts in them.
func (c *cutter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook cuts in SCRIPT LOAD and EVALSHA.
func (c *cutter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := c.rewrite(cmd.Args()); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

// rewrite changes the arguments of a command in place.
func (c *cutter) rewrite(args []any) error {
	switch strings.ToLower(fmt.Sprint(args[0])) {
	case "script":
		whole := fmt.Sprint(args[2])
		short, err := c.apply(whole)
		if err != nil {
			return err
		}
		args[2], c.loaded[digest(whole)] = short, digest(short)
	case "evalsha":
		short, ok := c.loaded[fmt.Sprint(args[1])]
		if !ok {
			return errUnknown{}
		}
		args[1] = short
	}
	return nil
}

func (c *cutter) apply(src string) (string, error) {
	for i, x := range c.cuts {
		if !strings.Contains(src, "-- "+x.file+".lua ") { // how each file begins
			continue
		}
		if n := strings.Count(src, x.old); n != 1 {
			return "", fmt.Errorf("%w: %s.lua holds %d times %q", errNoFit, x.file, n, x.old)
		}
		src, c.done[i] = strings.Replace(src, x.old, x.new, 1), true
	}
	return src, nil
}

// check fails where a cut was never made.
func (c *cutter) check() error {
	for i, done := range c.done {
		if !done {
			return fmt.Errorf("%w: %s.lua was not loaded", errNoFit, c.cuts[i].file)
		}
	}
	return nil
}

func digest(src string) string {
	sum := sha1.Sum([]byte(src))
	return hex.EncodeToString(sum[:])
}
