package outside

import (
	"context"
	"maps"
	"sync"
	"time"
)

// Trouble is what befalls a caller that asks under a given key: the first time only, but for Refused.
type Trouble int

// Troubles.
const (
	None      Trouble = iota
	Busy              // nothing is done; the caller is told to come again
	LostReply         // it is done, and the connection breaks before the answer
	Held              // it is done, and the answer waits until the caller has gone, at most ten seconds: see Book.Held
	Refused           // nothing is done, and never will be
)

// heldAtMost bounds the wait of a caller that is held.
const heldAtMost = 10 * time.Second

// Options of an outside party; the zero value answers at once and makes no trouble.
type Options struct {
	Latency time.Duration      // before each answer
	Trouble map[string]Trouble // by key; not to be changed any more
}

// Visit is a call that was held.
type Visit struct {
	Key    string
	Caller string // as it named itself: by HELO, or as User-Agent
}

// Counts of a Book.
type Counts struct {
	Effects int // how often something was done: more than Keys would be a fault
	Keys    int // for how many keys
	Repeats int // asked for again after it was done, and suppressed
	Busy    int // told to come again
	Lost    int // answers that were lost or held back
	Refused int // calls that were refused for good
}

// Book is what an outside party did. It is safe for concurrent use.
type Book struct {
	o    Options
	held chan Visit

	mu     sync.Mutex
	done   map[string]string
	met    map[string]bool // keys whose trouble is over
	counts Counts
}

func newBook(o Options) *Book {
	return &Book{o: o, held: make(chan Visit, len(o.Trouble)), done: map[string]string{}, met: map[string]bool{}}
}

// Held tells of each call that is held, when its effect is done.
func (b *Book) Held() <-chan Visit { return b.held }

// Done gives what was done, by key.
func (b *Book) Done() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.done)
}

// Counts counts what happened so far.
func (b *Book) Counts() Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.counts
	c.Keys = len(b.done)
	return c
}

// ask does what is asked under a key, once, and says with which trouble and what stands under the key from the first
// time. Two askers of one key are served one after the other.
func (b *Book) ask(key, what string) (t Trouble, first string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t = b.o.Trouble[key]
	if b.met[key] && t != Refused {
		t = None
	}
	b.met[key] = true
	switch t {
	case Busy:
		b.counts.Busy++
		return t, ""
	case Refused:
		b.counts.Refused++
		return t, ""
	case LostReply, Held:
		b.counts.Lost++
	}
	first, again := b.done[key]
	if again {
		b.counts.Repeats++
		return t, first
	}
	b.done[key] = what
	b.counts.Effects++
	return t, what
}

// latency passes the time that an answer takes.
func (b *Book) latency(ctx context.Context) {
	timer := time.NewTimer(b.o.Latency)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// hold tells of a held call, and returns when the caller has gone.
func (b *Book) hold(v Visit, gone <-chan struct{}) {
	b.held <- v // there is room for one a key
	timer := time.NewTimer(heldAtMost)
	defer timer.Stop()
	select {
	case <-gone:
	case <-timer.C:
	}
}
