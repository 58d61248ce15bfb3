package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
)

// payloadBytes is the size of every payload.
const payloadBytes = 200

var errAccount = errors.New("the account does not add up")

// account makes the payloads of a trial and counts which of them the handlers were given. It is
// safe for concurrent use.
type account struct {
	ran     []atomic.Int32
	strange atomic.Int64  // payloads that are none of ours
	waiting atomic.Int64  // jobs whose handler has not run
	done    chan struct{} // closed when every job has run
}

func newAccount(jobs int) *account {
	a := &account{ran: make([]atomic.Int32, jobs), done: make(chan struct{})}
	a.waiting.Store(int64(jobs))
	return a
}

// payload makes that of the i-th job: its number, then letters.
func (a *account) payload(i int) []byte {
	p := make([]byte, payloadBytes)
	binary.BigEndian.PutUint64(p, uint64(i))
	for j := 8; j < len(p); j++ {
		p[j] = 'a' + byte((i+j)%26)
	}
	return p
}

// handle is the handler: it notes that a job ran, and tells which.
func (a *account) handle(payload []byte) (i int, ok bool) {
	if len(payload) == payloadBytes {
		i = int(binary.BigEndian.Uint64(payload))
	}
	if len(payload) != payloadBytes || i < 0 || i >= len(a.ran) {
		a.strange.Add(1)
		return 0, false
	}
	if a.ran[i].Add(1) == 1 && a.waiting.Add(-1) == 0 {
		close(a.done)
	}
	return i, true
}

// check tells whether every job ran once.
func (a *account) check() error {
	missing, again := 0, 0
	for i := range a.ran {
		switch n := a.ran[i].Load(); {
		case n == 0:
			missing++
		case n > 1:
			again++
		}
	}
	if strange := a.strange.Load(); missing+again > 0 || strange > 0 {
		return fmt.Errorf("%w: of %d jobs %d did not run, %d ran again; %d payloads were unknown",
			errAccount, len(a.ran), missing, again, strange)
	}
	return nil
}
