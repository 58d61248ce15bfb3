package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// start runs attempts, each in its own goroutine. What comes too late is given back, and what would run beside an
// earlier attempt of its own is put off.
func (r *Runner) start(attempts []*Attempt) {
	var late, beside []*Attempt
	r.mu.Lock()
	for _, a := range attempts {
		r.held[a.member] = a
		switch {
		case r.closed:
			late = append(late, a)
		case !r.team.roster.enter(r.o.Name, a.ID):
			beside = append(beside, a)
		default:
			r.running[a.ID] = a
			r.all.Add(1)
			go r.work(a)
			continue
		}
		a.done = true
	}
	r.mu.Unlock()
	for _, a := range late {
		r.seat.Done(a.Rec.Kind)
		r.settler.Add(r.releasing(a))
	}
	for _, a := range beside {
		r.seat.Done(a.Rec.Kind)
		r.log.Warn("an earlier attempt of the job still runs here: it is put off", a.attrs(slog.Duration(keyDelay, putOff))...)
		a.tell(Event{Type: PutOff})
		r.settler.Add(ending{a: a, s: store.Settlement{Member: a.member, Keep: a.Rec.Keep, End: Snooze, Delay: putOff}})
	}
}

// work is the life of one attempt.
func (r *Runner) work(a *Attempt) {
	defer r.all.Done()
	var end ending
	failed := errGoexit // unless it returns
	defer func() {
		if failed != nil {
			end = r.lame(a, failed)
		}
		a.ctx.end(context.Canceled)
		r.hand(a, end)
	}()
	if a.Crashes > 0 {
		r.log.Info("a job is back whose worker was lost", a.attrs(slog.Int(keyCrashes, a.Crashes))...)
	}
	end, failed = r.run(a)
}

// lame is the end of an attempt whose handler ended its goroutine, or whose error or retry policy panicked.
func (r *Runner) lame(a *Attempt, failed error) (end ending) {
	end = r.ending(a, nil, &Steer{End: Retry, Delay: lameDelay, Err: failed})
	end.took, end.waited, end.err = a.took, a.waited, failed
	defer func() { _ = recover() }() // the log is the user's code too
	r.logEnd(end)
	return end
}

// lameDelay is the wait after an attempt whose error or retry policy could not be asked.
const lameDelay = 10 * time.Second

// errGoexit is the failure of a handler that ended its goroutine, as a test's FailNow does.
var errGoexit = errors.New("handler called runtime.Goexit")

// hand gives an attempt's end to be recorded.
func (r *Runner) hand(a *Attempt, end ending) {
	first := r.returned(a)
	if first {
		r.ability(end)
		r.settler.Add(end)
	} else {
		r.log.Warn("handler ended after its job was released: its outcome is dropped", a.attrs(endAttr(end.s.End))...)
	}
	r.seat.Done(a.Rec.Kind)
	select {
	case r.freed <- struct{}{}:
	default:
	}
}

// run is one attempt, from record to ending. The handler's error and the retry policy are the user's code
// too: a panic in them is a failure of the attempt, not the end of the process.
func (r *Runner) run(a *Attempt) (end ending, failed error) {
	defer func() {
		if p := recover(); p != nil {
			failed = &panicError{value: p, stack: debug.Stack()}
		}
	}()
	if a.damage != nil {
		end = r.ending(a, nil, &Steer{End: Dead, Err: a.damage})
		end.err = a.damage
	} else {
		result, err := r.handle(a)
		end = r.ending(a, result, err)
		end.took, end.waited, end.err = a.took, a.waited, err
	}
	r.logEnd(end)
	return end, nil
}

// handle calls the handler and takes the time.
func (r *Runner) handle(a *Attempt) ([]byte, error) {
	began := time.Now()
	a.ctx.limit(began, r.o.Policy(a.Rec.Kind).Timeout)
	if r.team.notify != nil {
		a.waited = a.wait()
		a.tell(Event{Type: Started, Waited: a.waited})
	}
	defer func() { a.took = time.Since(began) }()
	return r.protect(a)
}

// logEnd tells how an attempt ended: at debug where all is as it should be, else so that it is seen.
func (r *Runner) logEnd(end ending) {
	level := slog.LevelDebug
	switch end.s.End {
	case Retry:
		level = slog.LevelWarn
	case Dead:
		level = slog.LevelError
	}
	if ctx := end.a.ctx.parent; r.log.Enabled(ctx, level) {
		r.log.Log(ctx, level, "attempt ended", end.a.attrs(endAttr(end.s.End), tookAttr(end.took), errorAttr(end.err))...)
	}
}

// ability counts attempts in a row that this worker could not run at all: claims then slow down.
func (r *Runner) ability(end ending) {
	if end.unable {
		r.unable.Add(1)
	} else if r.unable.Load() > 0 {
		r.unable.Store(0)
	}
}

// protect runs the handler and turns a panic into an error.
func (r *Runner) protect(a *Attempt) (result []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, &panicError{value: p, stack: debug.Stack()}
		}
	}()
	return r.o.Handle(&a.ctx, a)
}

type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// returned notes that an attempt's handler returned; false where it was given up before.
func (r *Runner) returned(a *Attempt) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !a.done
	a.done = true
	delete(r.running, a.ID)
	r.team.roster.leave(r.o.Name, a.ID)
	return first
}
