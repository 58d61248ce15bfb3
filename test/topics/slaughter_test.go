package topictest_test

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/waybillhq/waybill/test/internal/program"
	topictest "github.com/waybillhq/waybill/test/topics"
)

// slaughter is a subscription whose workers kill themselves in mid-message.
type slaughter struct {
	*stand

	name  string
	least int // deaths
	done  chan struct{}
	all   sync.WaitGroup

	mu     sync.Mutex
	random *rand.Rand
	mild   bool
	died   int
}

// slaughter keeps two processes working a subscription off. Each kills itself in the first message that it comes to when it
// is a second old, and another takes its place.
func (s *stand) slaughter(name string, least int) *slaughter {
	s.Helper()
	seed := rand.Uint64()
	s.Logf("seed %d", seed)
	k := &slaughter{stand: s, name: name, least: least, done: make(chan struct{}), random: rand.New(rand.NewPCG(seed, 0))}
	for range 2 {
		k.all.Go(func() {
			for s.lives(k.next(), k.done) {
				k.mu.Lock()
				k.died++
				k.mu.Unlock()
			}
		})
	}
	return k
}

// next are the orders of the next process.
func (k *slaughter) next() topictest.Orders {
	k.mu.Lock()
	defer k.mu.Unlock()
	o := k.orders(k.name)
	if !k.mild || k.died < k.least {
		o.Die, o.DieAfter, o.Seed = topictest.Either, time.Second, k.random.Uint64()
	}
	return o
}

// relent lets later processes live, once enough have died: where few messages are left all of them would be fatal, one time
// after the other, and that is what the crash allowance is for.
func (k *slaughter) relent() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mild = true
}

// stop ends the processes, and tells how many have died in mid-message.
func (k *slaughter) stop() int {
	close(k.done)
	k.all.Wait()
	return k.died
}

// lives runs one process until it has killed itself, and tells whether it did; done ends it otherwise. It may be called from
// any goroutine.
func (s *stand) lives(o topictest.Orders, done <-chan struct{}) bool {
	if o.Redis == "" {
		o.Redis = s.server.URL()
	}
	p, err := program.Start[topictest.Said](s.T, binary, o)
	if err != nil {
		s.Errorf("start a worker: %v", err)
		return false
	}
	select {
	case <-p.Ended():
	case <-done:
		_ = p.Stop()
	}
	said := p.Said()
	if len(said) > 0 && said[len(said)-1].At != "" && p.Killed() {
		return true
	}
	if err := p.Wait(); err != nil && s.Context().Err() == nil {
		s.Error(err)
	}
	return false
}
