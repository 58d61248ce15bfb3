package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

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
			r.failed("renew", err, &fails)
			t.Reset(min(every, backoff(fails)))
			continue
		}
		fails = 0
		t.Reset(every)
	}
}

// renew extends the leases of all attempts whose end is not recorded, and tells those that lost
// theirs or are to be cancelled.
func (r *Runner) renew(ctx context.Context) error {
	members, at, wall := r.members(), time.Since(r.began), time.Now().UnixNano()
	var said []store.Verdict
	var err error
	if len(members) > 0 {
		said, err = r.o.Queue.Renew(ctx, r.o.Lease, members)
	}
	if err == nil {
		r.renewed.Store(int64(at))
		r.renewedWall.Store(wall)
	}
	for i, m := range members {
		if a := r.running(m); a != nil {
			r.tell(a, said[i])
		}
	}
	return err
}

// tell ends a handler's context where its attempt lost the job or is to stop.
func (r *Runner) tell(a *Attempt, v store.Verdict) {
	switch v {
	case store.Lost:
		a.cancel(ErrLeaseLost)
		if a.lost.CompareAndSwap(false, true) { // once, however long the handler goes on
			r.log.Warn("lease lost", a.attrs()...)
		}
	case store.CancelledNow:
		a.cancel(ErrCancelled)
	}
}

// check asks for one attempt, and renews its lease.
func (r *Runner) check(ctx context.Context, a *Attempt) error {
	said, err := r.o.Queue.Renew(ctx, r.o.Lease, []string{a.Member()})
	if err != nil {
		return fmt.Errorf("check job %s: %w", a.ID, err)
	}
	r.tell(a, said[0])
	switch said[0] {
	case store.Lost:
		return ErrLeaseLost
	case store.CancelledNow:
		return ErrCancelled
	}
	return nil
}
