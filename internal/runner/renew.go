package runner

import (
	"context"
	"log/slog"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// deafAfter is how long a handler may go on after its context ended before it counts as deaf.
const deafAfter = 5 * time.Second

// mostCancels bounds the IDs that are kept for a claim under way; the next renewal tells of the others.
const mostCancels = 1000

// askLease asks until it is told how long this queue's leases are; false where ctx ended first.
func (r *Runner) askLease(ctx context.Context) bool {
	for fails := 1; r.o.Lease == 0; fails++ {
		lease, err := r.o.Queue.Lease(ctx)
		if ctx.Err() != nil {
			return false
		}
		if r.called("lease", err); err != nil {
			r.retryPause(ctx, backoff(fails, mostWait))
			continue
		}
		r.o.Lease = lease
	}
	return ctx.Err() == nil
}

// renewLoop renews all leases at a third of their length, sooner again after a failure.
func (r *Runner) renewLoop(ctx context.Context, stop <-chan struct{}) {
	every := r.o.Lease / 3
	t := time.NewTimer(every)
	defer t.Stop()
	for fails := 0; ; {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		if err := r.renew(ctx); err != nil {
			fails++
			t.Reset(min(every, backoff(fails, mostWait)))
			continue
		}
		fails = 0
		t.Reset(every)
	}
}

// renew extends the leases of all attempts whose end is not recorded, and tells those that lost
// theirs or are to be cancelled.
func (r *Runner) renew(ctx context.Context) error {
	doubts := r.doubts.Load()
	members, at, wall := r.members(), time.Since(r.began), time.Now().UnixNano()
	var said []store.Verdict
	var err error
	if len(members) > 0 {
		said, err = r.o.Queue.Renew(ctx, r.o.Lease, members)
	}
	r.called("renew", err)
	if err == nil {
		r.renewed.Store(int64(at))
		r.renewedWall.Store(wall)
		if !r.line.fails("settle") { // what is finished comes first
			r.clear(doubts)
		}
	}
	for i, m := range members {
		if a := r.of(m); a != nil {
			_ = r.told(a, said[i]) // the handler's context tells it
		}
	}
	return err
}

// clear ends the doubts that were there before a renewal.
func (r *Runner) clear(doubts int64) {
	for {
		cleared := r.cleared.Load()
		if doubts <= cleared || r.cleared.CompareAndSwap(cleared, doubts) {
			return
		}
	}
}

// told ends a handler's context where its attempt lost the job or is to stop, and says so.
func (r *Runner) told(a *Attempt, v store.Verdict) error {
	switch v {
	case store.Lost:
		a.ctx.end(ErrLeaseLost)
		if r.of(a.member) == a { // else its end says what there is to say
			r.lost(a)
		}
		return ErrLeaseLost
	case store.CancelledNow:
		a.ctx.end(ErrCancelled)
		return ErrCancelled
	}
	return nil
}

// lost tells that a lease was lost: once, however long the handler goes on.
func (r *Runner) lost(a *Attempt) {
	if a.lost.CompareAndSwap(false, true) {
		r.log.Warn("lease lost", a.attrs()...)
		a.tell(Event{Type: LeaseLost})
	}
}

// Look asks at once about a job that is said to be cancelled, if an attempt of it runs here. Many at a time share calls.
func (r *Runner) Look(id string) {
	r.mu.Lock()
	a := r.running[id]
	if a == nil && r.under && len(r.cancels) < mostCancels {
		if r.cancels == nil {
			r.cancels = map[string]struct{}{}
		}
		r.cancels[id] = struct{}{}
	}
	r.mu.Unlock()
	if a != nil {
		r.looks.Add(a)
	}
}

// keepCancels keeps what Look is told of jobs that are not here, since the claim that begins may bring them.
func (r *Runner) keepCancels() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.under = true
}

// lookAtCancelled looks at the jobs of which Look was told before their claim was answered.
func (r *Runner) lookAtCancelled() {
	if r.last.open {
		return
	}
	r.mu.Lock()
	var came []*Attempt
	for id := range r.cancels {
		if a := r.running[id]; a != nil {
			came = append(came, a)
		}
	}
	r.under, r.cancels = false, nil
	r.mu.Unlock()
	for _, a := range came {
		r.looks.Add(a)
	}
}

// look renews the leases of some attempts. Where that fails, the next renewal tells.
func (r *Runner) look(attempts []*Attempt) {
	ctx, _ := r.calls.Load().(context.Context)
	members := make([]string, len(attempts))
	for i, a := range attempts {
		members[i] = a.member
	}
	said, err := r.o.Queue.Renew(ctx, r.o.Lease, members)
	if err != nil {
		r.log.Debug("look failed", errorAttr(err))
	}
	for i, a := range attempts {
		if said[i] == store.CancelledNow || r.of(a.member) != nil {
			_ = r.told(a, said[i])
		}
	}
}

// patrol tells of handlers that go on though their contexts ended: once each.
func (r *Runner) patrol(now time.Time) {
	for _, a := range r.attempts() {
		over := a.ctx.over(now)
		if over < deafAfter || !a.deaf.CompareAndSwap(false, true) {
			continue
		}
		why := a.ctx.why()
		r.log.Warn("handler does not return though its context ended: it keeps its slot", a.attrs(slog.Duration(keyOver, over), errorAttr(why))...)
		a.tell(Event{Type: Deaf, Took: over, Err: why})
	}
}
