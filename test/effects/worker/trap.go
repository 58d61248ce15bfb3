package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/test/effects"
	"github.com/waybillhq/waybill/test/internal/victim"
	"github.com/waybillhq/waybill/test/internal/watched"
)

// attempt is the one that runs, and how far it has come.
type attempt struct {
	job, token string
	number     int
	steps      []effects.Step
}

// trap kills the process where an attempt comes to a step. It lets one attempt run at a time, until its end is settled:
// one that died with another's would have no death of its own.
type trap struct {
	die  effects.Step
	free chan struct{} // holds a value while no attempt runs

	mu      sync.Mutex
	current *attempt
}

func newTrap(die effects.Step) *trap {
	t := &trap{die: die, free: make(chan struct{}, 1)}
	t.free <- struct{}{}
	return t
}

func (t *trap) begin(ctx context.Context, a *waybill.Attempt) (*attempt, error) {
	select {
	case <-t.free:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	running := &attempt{job: a.ID, token: a.Token, number: a.Number}
	t.mu.Lock()
	t.current = running
	t.mu.Unlock()
	t.reach(running, effects.Claimed)
	return running, nil
}

// reach notes that an attempt, nil = none, has come to a step.
func (t *trap) reach(a *attempt, s effects.Step) {
	if a == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s == effects.Begun {
		a.steps = a.steps[:1] // perhaps the database gave an earlier transaction up
	}
	if n := len(a.steps); n == 0 || a.steps[n-1] != s { // a settlement may be sent again, where an answer is late
		a.steps = append(a.steps, s)
	}
	if s == t.die && a.number == 1 {
		a.end()
	}
}

// watch hears of the steps of transactions.
func (t *trap) watch(ctx context.Context, s watched.Step) { t.reach(attemptOf(ctx), effects.Step(s)) }

// end kills this process.
func (a *attempt) end() {
	victim.Say(effects.Death{Job: a.job, Attempt: a.number, Steps: a.steps})
	victim.Die()
}

// settling is the attempt whose end a settlement tells, nil where it is of none that has begun.
func (t *trap) settling(args []any) *attempt {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == nil {
		return nil
	}
	for _, arg := range args {
		if text, ok := arg.(string); ok && strings.HasPrefix(text, t.current.token+" ") {
			return t.current
		}
	}
	return nil
}

// settled lets the next attempt run. An attempt that was to die never comes here, unless it missed its step.
func (t *trap) settled(a *attempt) {
	if a.number == 1 && t.die != "" {
		fmt.Fprintf(os.Stderr, "%s was settled; it came to %q, and was to die %s\n", a.job, a.steps, t.die)
		os.Exit(1)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == a {
		t.current = nil
		t.free <- struct{}{}
	}
}

type attemptKey struct{}

func withAttempt(ctx context.Context, a *attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}
