package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// After the grace: how long cancelled handlers have to return, and how long ends may take to be recorded.
const (
	returnTime = time.Second
	settleTime = 5 * time.Second
	askTime    = 2 * time.Second // after a stop was asked for: until when an open claim is sent again
)

// stopClock runs from the moment a stop is asked for, whatever Redis does: it tells the handlers, ends their
// contexts after the grace, and at last lets no call to Redis have another try.
func (r *Runner) stopClock(calls context.Context, cancel context.CancelCauseFunc, enough context.CancelFunc) {
	r.stopped.Store(int64(time.Since(r.began)))
	close(r.stopping)
	if !pause(calls, r.o.Grace) {
		return
	}
	cancel(ErrShutdown)
	if pause(calls, returnTime+settleTime) {
		enough()
	}
}

// stop waits for the handlers until the grace is over, releases the jobs of those that don't return then, and
// waits until all ends are recorded.
func (r *Runner) stop(work context.Context, claimReturned func()) error {
	r.mu.Lock()
	r.closed = true // no handler begins any more
	r.mu.Unlock()
	returned := make(chan struct{})
	go func() {
		r.all.Wait()
		close(returned)
	}()
	stuck := 0
	select {
	case <-returned:
	case <-work.Done():
		if !within(returned, returnTime) {
			stuck = r.release()
		}
	}
	enough := time.AfterFunc(settleTime, func() { close(r.givenUp) })
	defer enough.Stop()
	claimReturned()
	r.settler.Wait()
	if lost := len(r.members()); stuck > 0 || lost > 0 {
		return fmt.Errorf("queue %q: handlers that did not return and were released: %d; ends not recorded: %d: %w",
			r.o.Name, stuck, lost, ErrUnfinished)
	}
	return nil
}

// returnOpenClaim asks for the answer to a claim that got none, when no more are made, and gives back the jobs it
// brings: nobody would run them until their leases end. It asks again while the runner is only quiet, and a little
// longer: one call to a frozen Redis takes seconds.
func (r *Runner) returnOpenClaim(ctx, calls context.Context) {
	defer r.leaveGate()
	var asked error
	for fails := 1; r.last.open; fails++ {
		if ctx.Err() != nil && r.stoppedFor() > askTime {
			r.log.Warn("last claim got no answer: leases bring its jobs back", errorAttr(asked))
			return
		}
		r.last.grant = Grant{} // none, where the first never arrived
		got, err := r.sendClaim(calls)
		if asked = err; err == nil {
			r.giveBack(calls, got)
			return
		}
		r.retryPause(calls, backoff(fails, mostWait))
	}
}

// stoppedFor is how long ago the stop was asked for.
func (r *Runner) stoppedFor() time.Duration {
	<-r.stopping
	return time.Since(r.began) - time.Duration(r.stopped.Load())
}

func (r *Runner) isStopping() bool {
	select {
	case <-r.stopping:
		return true
	default:
		return false
	}
}

// giveBack releases what a claim brought.
func (r *Runner) giveBack(work context.Context, got store.Claimed) {
	for _, a := range r.brought(work, got) {
		r.mu.Lock()
		a.done = true
		r.held[a.member] = a
		r.mu.Unlock()
		r.settler.Add(r.releasing(a))
	}
}

// release gives back the jobs of handlers that do not return; what they return later is dropped.
func (r *Runner) release() int {
	r.mu.Lock()
	var stuck []*Attempt
	for _, a := range r.running {
		if !a.done {
			a.done = true
			stuck = append(stuck, a)
		}
	}
	r.mu.Unlock()
	for _, a := range stuck {
		r.log.Error("handler does not return: its job is released", a.attrs()...)
		a.ctx.end(ErrShutdown) // from now on it is deaf
		end := r.releasing(a)
		end.took, end.err = time.Since(a.came), ErrShutdown
		r.settler.Add(end)
	}
	return len(stuck)
}

func (r *Runner) releasing(a *Attempt) ending {
	return ending{a: a, s: store.Settlement{Member: a.member, Keep: a.Rec.Keep, End: store.Release, Effects: a.told.sum()}}
}

func within(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// waitToSettle waits before ends are sent again; false where the runner stops and has waited enough.
func (r *Runner) waitToSettle(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-r.givenUp:
		return false
	case <-r.team.outage.news():
		return true
	case <-t.C:
		return true
	}
}

// giveUp tells of ends that could not be recorded.
func (r *Runner) giveUp(ends []ending, err error) {
	for _, e := range ends {
		r.log.Error("end not recorded: the lease brings the job back", e.a.attrs(endAttr(e.s.End), errorAttr(err))...)
		r.over(e, "")
	}
}
