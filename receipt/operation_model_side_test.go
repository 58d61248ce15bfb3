package receipt_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/waybillhq/waybill/receipt"
)

// history is an operation, the other side of it, and the attempts that are under way.
type history struct {
	w       *opWorld
	rng     *rand.Rand
	o       operation
	reaches time.Duration
	id      string
	trace   []string

	now     time.Duration // that has passed
	calls   []*modelCall
	actors  []*actor // each waits for an answer
	begun   int
	done    int           // at the other side
	doneAt  time.Duration // when the key was seen first
	pending bool          // was told, and saved
	refused bool
	over    bool
	last    receipt.OperationInfo // once it is for good
}

// modelCall is a call on its way.
type modelCall struct {
	at             time.Duration
	arrived, never bool
}

// actor is an attempt that waits in Send or Lookup; its call is nil for Lookup.
type actor struct {
	name string
	late bool // it began when there was an answer for good
	asks chan modelAsk
	ends chan error
	ask  modelAsk
}

type modelAsk struct {
	call   *modelCall
	answer chan error
}

func (h *history) say(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf(format, args...))
}

// begin starts an attempt.
func (h *history) begin() {
	h.begun++
	a := &actor{name: fmt.Sprint("attempt ", h.begun), late: h.last.State != "", asks: make(chan modelAsk), ends: make(chan error)}
	h.say("%s begins", a.name)
	o := h.o
	asked := func(call *modelCall) (charged, error) {
		ask := modelAsk{call, make(chan error)}
		a.asks <- ask
		return charged{"ch"}, <-ask.answer
	}
	o.Send = func(context.Context, call) (charged, error) { return asked(&modelCall{at: h.now}) }
	if o.Lookup != nil {
		o.Lookup = func(context.Context, call) (charged, error) { return asked(nil) }
	}
	h.actors = append(h.actors, a)
	go func() {
		_, err := o.Do(h.w.t.Context(), h.w.r, attempt(h.id, a.name))
		a.ends <- err
	}()
	h.follow(a)
}

// follow waits until an attempt asks the other side, or ends.
func (h *history) follow(a *actor) {
	select {
	case a.ask = <-a.asks:
		if a.late {
			h.w.t.Error("the other side was asked, and there was an answer")
		}
		word := "looks"
		if a.ask.call != nil {
			word = "calls"
			h.calls = append(h.calls, a.ask.call)
		}
		h.say("%s %s", a.name, word)
	case err := <-a.ends:
		h.say("%s ends: %v", a.name, err)
		h.actors = slices.DeleteFunc(h.actors, func(b *actor) bool { return a == b })
		h.ended(err)
	}
}

// arrive carries a call to the other side, which does what it asks unless it knows its key. A late one never arrives.
func (h *history) arrive(c *modelCall) {
	if c.arrived || c.never || h.now >= c.at+h.reaches || h.refused {
		return
	}
	c.arrived = true
	if h.o.KeyTTL > 0 && h.done > 0 && h.now < h.doneAt+h.o.KeyTTL {
		return
	}
	h.done++
	h.doneAt = h.now
}

// answer answers an attempt with something that can be true.
func (h *history) answer(a *actor) {
	can := []error{errBroken, errBroken, receipt.Busy(0, "503")}
	switch c := a.ask.call; {
	case c == nil && h.done == 0, c == nil && h.pending:
		can = append(can, receipt.NotFound(), receipt.NotFound())
	case c == nil:
		can = append(can, nil, receipt.Pending(0, "there"))
	case c.arrived:
		can = []error{errBroken, nil, nil, receipt.Pending(0, "taken")}
	case h.done == 0 && h.now < c.at+modelTimeout && h.rng.IntN(8) == 0 && !h.mayArrive(c):
		h.refused = true
		can = []error{receipt.Refused("no")}
	}
	h.tell(a, can[h.rng.IntN(len(can))])
}

// found answers with all that is known, and does what is asked.
func (h *history) found(a *actor) {
	switch c := a.ask.call; {
	case c != nil:
		h.arrive(c)
		if !c.arrived {
			h.tell(a, receipt.Refused("no"))
			return
		}
		h.tell(a, nil)
	case h.done == 0:
		h.tell(a, receipt.NotFound())
	default:
		h.tell(a, nil)
	}
}

// mayArrive says whether another call than this is on its way.
func (h *history) mayArrive(but *modelCall) bool {
	return slices.ContainsFunc(h.calls, func(c *modelCall) bool {
		return c != but && !c.arrived && !c.never && h.now < c.at+h.reaches
	})
}

// tell gives an answer; a call whose answer is here, and that was not taken, never arrives.
func (h *history) tell(a *actor, said error) {
	h.say("%s is told %v", a.name, said)
	if c := a.ask.call; c != nil && !c.arrived && said != errBroken { //nolint:errorlint // it is the same
		c.never = true
	}
	a.ask.answer <- said
	h.follow(a)
}
