package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// start runs one delivery in its own goroutine.
func (r *Runner) start(work context.Context, d store.Delivery) {
	ctx, cancel := context.WithCancelCause(work)
	a := r.newAttempt(d, cancel)
	r.mu.Lock()
	r.held[d.Member()] = a
	r.busy++
	r.mu.Unlock()
	r.all.Add(1)
	go func() {
		defer r.all.Done()
		defer cancel(nil)
		var end ending
		returned := false
		defer func() {
			if !returned {
				end = r.ending(ctx, a, nil, &Steer{End: Retry, Delay: lameDelay, Err: errGoexit})
			}
			r.hand(a, end)
		}()
		end = r.run(ctx, a)
		returned = true
	}()
}

// lameDelay is the wait after an attempt whose error or retry policy could not be asked.
const lameDelay = 10 * time.Second

// errGoexit is the failure of a handler that ended its goroutine, as a test's FailNow does.
var errGoexit = errors.New("handler called runtime.Goexit")

// hand gives an attempt's end to be recorded.
func (r *Runner) hand(a *Attempt, end ending) {
	if !r.over(a) {
		r.log.Warn("handler ended after its job was released: its outcome is dropped", a.attrs(endAttr(end.s.End))...)
		return
	}
	r.ability(end)
	r.settler.Add(end)
}

func (r *Runner) newAttempt(d store.Delivery, cancel context.CancelCauseFunc) *Attempt {
	a := &Attempt{Delivery: d, runner: r, cancel: cancel, came: time.Now()}
	if a.Rec, a.damage = record.Parse(d.Record); a.damage != nil {
		a.Rec.Keep = record.LostKeep
	}
	return a
}

// run is one attempt, from record to ending. The handler's error and the retry policy are the user's code
// too: a panic in them is a failure of the attempt, not the end of the process.
func (r *Runner) run(ctx context.Context, a *Attempt) (end ending) {
	defer func() {
		if p := recover(); p != nil {
			err := &panicError{value: p, stack: debug.Stack()}
			end = r.ending(ctx, a, nil, &Steer{End: Retry, Delay: lameDelay, Err: err})
		}
	}()
	if a.damage != nil {
		return r.ending(ctx, a, nil, &Steer{End: Dead, Err: a.damage})
	}
	p := r.o.Policy(a.Rec.Kind)
	if p.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.Timeout, ErrTimeout)
		defer cancel()
	}
	began := time.Now()
	result, err := r.protect(ctx, a)
	end = r.ending(ctx, a, result, err)
	r.logEnd(ctx, end, time.Since(began), err)
	return end
}

// logEnd tells how an attempt ended: at debug where all is as it should be, else so that it is seen.
func (r *Runner) logEnd(ctx context.Context, end ending, took time.Duration, err error) {
	level := slog.LevelDebug
	switch end.s.End {
	case Retry:
		level = slog.LevelWarn
	case Dead:
		level = slog.LevelError
	}
	if r.log.Enabled(ctx, level) {
		r.log.Log(ctx, level, "attempt ended", end.a.attrs(endAttr(end.s.End), tookAttr(took), errorAttr(err))...)
	}
}

// ability counts attempts in a row that this worker could not run at all: claims then slow down.
func (r *Runner) ability(end ending) {
	if end.unable {
		r.unable.Add(1)
	} else {
		r.unable.Store(0)
	}
}

// protect runs the handler and turns a panic into an error.
func (r *Runner) protect(ctx context.Context, a *Attempt) (result []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, &panicError{value: p, stack: debug.Stack()}
		}
	}()
	return r.o.Handle(ctx, a)
}

type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// over frees the slot of an attempt whose handler returned; false where it was given up before.
func (r *Runner) over(a *Attempt) bool {
	r.mu.Lock()
	first := !a.done
	a.done = true
	if first {
		r.busy--
	}
	r.mu.Unlock()
	select {
	case r.freed <- struct{}{}:
	default:
	}
	return first
}
