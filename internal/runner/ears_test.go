package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/runner"
)

// bells are those of many queues, with at most one token each.
type bells struct {
	mu     sync.Mutex
	tokens map[string]bool
	rung   chan struct{} // closed and made anew at each ring
	under  int           // listens under way
	most   int           // at a time
	longer int           // listens with more names than allowed
	calls  int
	names  int // in all calls
	fail   bool
}

func newBells() *bells { return &bells{tokens: map[string]bool{}, rung: make(chan struct{})} }

func (b *bells) ring(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens[name] = true
	close(b.rung)
	b.rung = make(chan struct{})
}

func (b *bells) Listen(_ context.Context, names []string, d time.Duration) (string, error) {
	b.mu.Lock()
	b.under++
	b.calls++
	b.names += len(names)
	b.most = max(b.most, b.under)
	if len(names) > 128 {
		b.longer++
	}
	fail := b.fail
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.under--
		b.mu.Unlock()
	}()
	if fail {
		return "", errors.New("connection reset")
	}
	over := time.After(d)
	for {
		name, rung := b.take(names)
		if name != "" {
			return name, nil
		}
		select {
		case <-over:
			return "", nil
		case <-rung:
		}
	}
}

func (b *bells) take(names []string) (string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names {
		if b.tokens[name] {
			delete(b.tokens, name)
			return name, nil
		}
	}
	return "", b.rung
}

func (b *bells) has(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tokens[name]
}

// listeners are ears of n queues, of which all want to hear.
func listeners(t *testing.T, b *bells, n int) (*runner.Ears, []*runner.Ear) {
	t.Helper()
	e := runner.NewEars(runner.EarsOptions{Listener: b, Calls: 8, Names: 128})
	ears := make([]*runner.Ear, n)
	for i := range ears {
		name := fmt.Sprint("q", i)
		ears[i] = e.Join(name, func(context.Context) error {
			b.ring(name)
			return nil
		})
	}
	for _, ear := range ears {
		ear.Want(t.Context())
	}
	return e, ears
}

func TestEars(t *testing.T) {
	t.Run("500 queues are heard in few listens, each within milliseconds of its ring", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBells()
			e, ears := listeners(t, b, 500)
			later(10 * time.Second)
			began := time.Now()
			for i, ear := range ears {
				b.ring(fmt.Sprint("q", i))
				<-ear.Heard()
			}
			if took := time.Since(began); took > 0 {
				t.Errorf("500 rings were heard after %s", took)
			}
			before := b.calls
			for _, ear := range ears {
				ear.Want(t.Context())
			}
			later(10 * time.Second)
			if n := b.calls - before; n > 70 {
				t.Errorf("%d listens in ten idle seconds", n)
			}
			if b.most > 8 || b.longer > 0 {
				t.Errorf("%d listens at a time, %d with too many queues", b.most, b.longer)
			}
			for _, ear := range ears {
				ear.Hush()
			}
			e.Close()
		})
	})
	t.Run("a token that is taken for nobody is rung back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBells()
			e, ears := listeners(t, b, 3)
			synctest.Wait()
			if ears[1].Hush() {
				t.Error("it heard a bell that did not ring")
			}
			b.ring("q1")
			synctest.Wait()
			if !b.has("q1") {
				t.Error("the token is lost")
			}
			e.Close()
		})
	})
	t.Run("a token in hand is told by Hush", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBells()
			e, ears := listeners(t, b, 1)
			b.ring("q0")
			synctest.Wait()
			if !ears[0].Hush() {
				t.Error("the token is lost")
			}
			e.Close()
		})
	})
	t.Run("after a failure every queue is looked at, for its ring may be lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBells()
			b.fail = true
			e, ears := listeners(t, b, 20)
			later(30 * time.Second)
			if b.calls > 8*31 {
				t.Errorf("%d listens in 30 s while they fail", b.calls)
			}
			b.mu.Lock()
			b.fail = false
			b.mu.Unlock()
			later(5 * time.Second)
			deaf := slices.IndexFunc(ears, func(ear *runner.Ear) bool { return len(ear.Heard()) == 0 })
			if deaf >= 0 {
				t.Errorf("queue %d is not looked at", deaf)
			}
			e.Close()
		})
	})
	t.Run("a close waits for the listens under way, a second", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBells()
			e, _ := listeners(t, b, 100)
			later(10500 * time.Millisecond)
			began := time.Now()
			e.Close()
			if took := time.Since(began); took > time.Second || b.under > 0 {
				t.Errorf("after %s, %d listens are under way", took, b.under)
			}
		})
	})
}
