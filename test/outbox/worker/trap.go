package main

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/test/internal/victim"
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
		victim.Say(outboxtest.Said{Up: true})
	}
	if b != t.die && (t.chance == 0 || t.rand.IntN(t.chance) > 0) {
		return
	}
	victim.Say(outboxtest.Said{At: b})
	victim.Die()
}
