// Package victim is what the programs have in common that tests kill: how they begin, speak, and die.
package victim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Main runs a program whose orders are its one argument, as JSON, until its stdin ends: the test lets go, or is gone.
func Main[Orders any](run func(context.Context, Orders) error) {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	var o Orders
	if err := json.Unmarshal([]byte(os.Args[1]), &o); err != nil {
		log.Fatal(err)
	}
	if err := run(ctx, o); err != nil {
		log.Fatal(err)
	}
}

// Redis is a client that sends nothing twice by itself.
func Redis(url string) (*redis.Client, error) {
	at, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	at.MaxRetries = -1
	return redis.NewClient(at), nil
}

// Say writes a line of JSON, in one piece.
func Say(what any) {
	line, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// Die ends the process by SIGKILL. It does not return.
func Die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // nothing after this line may run until the signal is there
}

// Logger writes to stderr from a level on.
func Logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// Scripts is a hook around the calls of scripts, by their digests.
type Scripts struct {
	Digests []string
	// Around makes the call by next. What it gives back is the call's error.
	Around func(args []any, next func() error) error
}

// DialHook changes nothing.
func (s Scripts) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook changes nothing.
func (s Scripts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook is around the scripts' calls.
func (s Scripts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if len(args) > 1 && args[0] == "EVALSHA" {
			if sha, _ := args[1].(string); slices.Contains(s.Digests, sha) {
				return s.Around(args, func() error { return next(ctx, cmd) })
			}
		}
		return next(ctx, cmd)
	}
}

// Unanswered tells f of the scripts' calls that got no answer, but for those of a script that the server did not know: it is
// loaded, and they are sent again.
func Unanswered(digests []string, f func()) Scripts {
	return Scripts{digests, func(_ []any, next func() error) error {
		err := next()
		if err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") {
			f()
		}
		return err
	}}
}
