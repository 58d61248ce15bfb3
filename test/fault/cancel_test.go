package fault_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

// cancelled is a job whose handler runs until its context ends, and what that ended with.
func cancelled(t *testing.T, r *rig, o waybill.WorkerOptions) (id string, cause <-chan error, ran *runs) {
	t.Helper()
	running, causes := make(chan struct{}, 1), make(chan error, 1)
	_, ran = r.start(o, func(ctx context.Context, _ *waybill.Job[int]) error {
		running <- struct{}{}
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return ctx.Err()
	})
	id = r.send(1)
	<-running
	return id, causes, ran
}

// ends checks the end of a cancelled job: cancelled, not retried, the reason kept, its waiters told.
func ends(t *testing.T, r *rig, id string, ran *runs) {
	t.Helper()
	err := work.Wait(t.Context(), r.beside, id)
	var ended *waybill.EndedError
	if !errors.As(err, &ended) || !errors.Is(err, waybill.ErrCancelled) || ended.Reason != "wrong address" {
		t.Errorf("a waiter is told %v", err)
	}
	j, err := r.beside.Queue(queue).Get(t.Context(), id)
	must(t, err)
	if j.State != waybill.StateCancelled || j.Attempt != 1 || j.Failures != 0 || j.Reason != "wrong address" || ran.total() != 1 {
		t.Errorf("%s after %d attempts, %d failures, reason %q", j.State, j.Attempt, j.Failures, j.Reason)
	}
}

// TestG8_cancelRunning: a running job that obeys its context is cancelled.
func TestG8_cancelRunning(t *testing.T) {
	t.Run("at once, by the control channel", func(t *testing.T) {
		t.Parallel()
		soon(t, time.Second, func() time.Duration { return cancelledByChannel(t) })
	})
	t.Run("with the next renewal, where there is no channel", func(t *testing.T) {
		t.Parallel()
		const lease = 3 * time.Second // long beside the stalls of a busy machine
		soon(t, lease/3+time.Second, func() time.Duration { return cancelledByRenewal(t, lease) })
	})
}

func cancelledByChannel(t *testing.T) time.Duration {
	t.Helper()
	r := newRig(t)
	id, cause, ran := cancelled(t, r, waybill.WorkerOptions{}) // a renewal would take ten seconds
	within(t, latest, "the worker hears", func() bool {
		n, err := r.direct.PubSubNumSub(t.Context(), "wb:{q}:control").Result()
		return err == nil && n["wb:{q}:control"] == 1
	})
	asked := time.Now()
	must(t, r.beside.Queue(queue).Cancel(t.Context(), id, "wrong address"))
	if err := <-cause; !errors.Is(err, waybill.ErrCancelled) {
		t.Errorf("the context ended with %v", err)
	}
	took := time.Since(asked)
	ends(t, r, id, ran)
	return took
}

func cancelledByRenewal(t *testing.T, lease time.Duration) time.Duration {
	t.Helper()
	r := newRig(t)
	must(t, r.direct.Do(t.Context(), "ACL", "SETUSER", "default", "-subscribe").Err())
	id, cause, ran := cancelled(t, r, waybill.WorkerOptions{Lease: lease})
	asked := time.Now()
	must(t, r.beside.Queue(queue).Cancel(t.Context(), id, "wrong address"))
	if err := <-cause; !errors.Is(err, waybill.ErrCancelled) {
		t.Errorf("the context ended with %v", err)
	}
	took := time.Since(asked)
	ends(t, r, id, ran)
	return took
}
