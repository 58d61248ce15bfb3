package main

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/waybillhq/waybill/test/internal/victim"
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
	victim.Say(topictest.Said{At: b})
	victim.Die()
}
