package runner

import (
	"context"
	"errors"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/store"
)

// Bounds of what an attempt leaves behind.
const (
	settleMost = 1000      // ends in one call
	MaxResult  = 256 << 10 // bytes of a result; a larger one is dropped, and the drop told
	maxMessage = 4 << 10   // bytes of an error's text: its end
	maxStack   = 4 << 10   // bytes of a panic's stack: its begin
)

// End is how a handler may end its attempt by the error it returns.
type End = store.End

// Ends of attempts. A Steer may ask for all but the first two.
const (
	Ack      = store.Ack
	Complete = store.Complete

	Retry   = store.Retry
	Snooze  = store.Snooze
	Dead    = store.Dead
	Cancel  = store.Cancel
	Release = store.Release
)

// Steer is the error by which a handler says how its attempt ends.
type Steer struct {
	End   End
	Delay time.Duration
	Err   error
}

func (s *Steer) Error() string { return s.Err.Error() }

// Unwrap gives the handler's own error.
func (s *Steer) Unwrap() error { return s.Err }

// ending is the end of an attempt on its way to Redis.
type ending struct {
	a      *Attempt
	s      store.Settlement
	unable bool // the worker could not run the job at all

	took, waited time.Duration // for an observer, as is what follows
	err          error
}

// ending turns what a handler returned into one settlement.
func (r *Runner) ending(a *Attempt, result []byte, err error) ending {
	s := store.Settlement{Member: a.member, Keep: a.Rec.Keep, Retention: a.Rec.Retention, Effects: a.told.sum()}
	if s.Retention == 0 {
		s.Retention = r.o.Policy(a.Rec.Kind).Retention
	}
	if err == nil {
		s.End = store.Ack
		if s.Retention > 0 {
			s.End, s.Result, s.Dropped = store.Complete, result, len(result) > MaxResult
		}
		if s.Dropped {
			s.Result = nil
		}
		return ending{a: a, s: s}
	}
	unable := r.fail(a, &s, err)
	return ending{a: a, s: s, unable: unable}
}

// fail decides how a failed attempt ends: as its error says, else by policy. unable: the worker could
// not run the job at all.
func (r *Runner) fail(a *Attempt, s *store.Settlement, err error) (unable bool) {
	var steer *Steer
	p := r.o.Policy(a.Rec.Kind)
	switch cause := a.ctx.why(); {
	case errors.As(err, &steer):
		s.End, s.Delay = steer.End, steer.Delay
	case errors.Is(cause, ErrShutdown), errors.Is(cause, ErrCancelled): // released, or cancelled as asked
		s.End = Release
		return false
	default:
		s.End, s.Delay = Retry, max(0, p.Retry(a.Failures+1, err))
	}
	most := a.Rec.MaxFailures
	if most == 0 {
		most = p.MaxFailures
	}
	if s.End == Retry && most > 0 && a.Failures+1 >= most {
		s.End = Dead
	}
	if s.End == Retry || s.End == Dead {
		s.Line = r.errorLine(a, err)
	}
	if s.End == Cancel {
		s.Line = tail(steer.Err.Error(), maxMessage)
	}
	return s.End == Release
}

// errorLine is what the job keeps of an error.
func (r *Runner) errorLine(a *Attempt, err error) string {
	e := store.Error{
		Attempt: a.Delivery.Attempt, At: a.serverNow().UnixMilli(), Type: "failure",
		Message: tail(err.Error(), maxMessage), Worker: r.worker,
	}
	var p *panicError
	switch {
	case errors.As(err, &p):
		e.Type, e.Stack = "panic", string(p.stack[:min(len(p.stack), maxStack)])
	case errors.Is(a.ctx.why(), ErrTimeout), errors.Is(err, ErrTimeout): // by the policy, or by the handler's own clock
		e.Type = "timeout"
	}
	return e.Line()
}

// tail is the end of a text, on a character's border.
func tail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[len(s)-most:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}

// settle records ends until each is answered. Called by the batcher, one call at a time.
func (r *Runner) settle(ctx context.Context, ends []ending) {
	for fails := 1; len(ends) > 0; fails++ {
		items := make([]store.Settlement, len(ends))
		for i, e := range ends {
			items[i] = e.s
		}
		said, err := r.o.Queue.Settle(ctx, items)
		r.called("settle", err)
		ends = r.answered(ends, said)
		if err == nil {
			return
		}
		if !r.waitToSettle(ctx, backoff(fails, mostWait)) {
			r.giveUp(ends, err)
			return
		}
	}
}

// answered lets go of the ends that Redis answered, and gives back the others.
func (r *Runner) answered(ends []ending, said []store.Verdict) []ending {
	rest := ends[:0:0]
	r.mu.Lock()
	for i, e := range ends {
		if said[i] == "" {
			rest = append(rest, e)
		} else {
			delete(r.held, e.a.member)
		}
	}
	r.mu.Unlock()
	for i, e := range ends {
		if said[i] != "" {
			r.recorded(e, said[i])
		}
	}
	return rest
}

// recorded tells what Redis said of an end.
func (r *Runner) recorded(e ending, said store.Verdict) {
	if said == store.Stale || said == store.Gone {
		r.log.Warn("stale: the attempt's end changes nothing", e.a.attrs(endAttr(e.s.End), slog.String(keyAnswer, string(said)))...)
		if e.a.lost.CompareAndSwap(false, true) {
			e.a.tell(Event{Type: LeaseLost})
		}
	}
	r.over(e, said)
}

// over is the last of every attempt: its end is recorded, or given up where Redis said nothing. Only now may another
// suspect come: it could end the process, and the first would have crashed once more.
func (r *Runner) over(e ending, said store.Verdict) {
	if e.a.gated {
		r.team.suspects.passed(r)
	}
	e.tellEnded(said)
}
