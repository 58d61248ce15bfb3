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
)

// stopClock runs from the moment a stop is asked for, whatever Redis does: it tells the handlers, ends their
// contexts after the grace, and at last lets no call to Redis have another try.
func (r *Runner) stopClock(calls context.Context, cancel context.CancelCauseFunc, enough context.CancelFunc) {
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

// returnOpenClaim asks once more for the answer to a claim that got none, and gives back the jobs it brings:
// nobody would run them until their leases end.
func (r *Runner) returnOpenClaim(ctx context.Context) {
	if !r.last.open {
		return
	}
	r.last.grant = Grant{} // none, where the first never arrived
	got, err := r.sendClaim(ctx)
	if err != nil {
		r.log.Warn("last claim got no answer: leases bring its jobs back", errorAttr(err))
		return
	}
	for _, d := range got.Jobs {
		a := r.newAttempt(ctx, d, time.Now())
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
		end := r.releasing(a)
		end.took, end.err = time.Since(a.came), ErrShutdown
		r.settler.Add(end)
	}
	return len(stuck)
}

func (r *Runner) releasing(a *Attempt) ending {
	return ending{a: a, s: store.Settlement{Member: a.member, Keep: a.Rec.Keep, End: store.Release}}
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
		e.tellEnded("")
	}
}
