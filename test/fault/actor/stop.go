package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/test/fault/stage"
	"github.com/waybillhq/waybill/test/internal/victim"
)

// stopper holds one passage of one point until it is let go. It is safe for concurrent use.
type stopper struct {
	at   stage.Point
	free chan struct{} // takes a value where it is let go

	mu   sync.Mutex
	skip int
	done bool
}

func (s *stopper) goOn() {
	select {
	case s.free <- struct{}{}:
	default:
	}
}

// pass passes a point.
func (s *stopper) pass(p stage.Point) {
	if !s.here(p) {
		return
	}
	victim.Say(stage.Said{At: p})
	<-s.free
}

func (s *stopper) here(p stage.Point) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p != s.at || s.done {
		return false
	}
	s.skip--
	s.done = s.skip < 0
	return s.done
}

// calls passes the points within this process around the calls of scripts.
func (a *actor) calls() redis.Hook {
	return victim.Scripts{
		Digests: slices.Collect(maps.Keys(a.Digests)),
		Around: func(args []any, next func() error) error {
			sha, _ := args[1].(string)
			verb := a.Digests[sha]
			a.stop.pass(stage.Sends.Of(verb))
			if verb == "settle" {
				a.sending(args)
			}
			err := next()
			if !redis.HasErrorPrefix(err, "NOSCRIPT") { // else it is sent again
				a.stop.pass(stage.Read.Of(verb))
			}
			return err
		},
	}
}

// sending tells the history which attempts a call ends: they are named by leases, "token element".
func (a *actor) sending(args []any) {
	for _, arg := range args[2:] {
		if text, ok := arg.(string); ok {
			token, _, _ := strings.Cut(text, " ")
			a.tells.Sending(token)
		}
	}
}

// watch passes the points that package boundary names.
func (s *stopper) watch(name string) { s.pass(stage.Point(name)) }

type stopKey struct{}

// inAttempt marks the context of a handler, whose transactions pass points.
func inAttempt(ctx context.Context) context.Context { return context.WithValue(ctx, stopKey{}, true) }
