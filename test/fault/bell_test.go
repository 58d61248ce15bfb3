package fault_test

import (
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

// mostLate is how long a job may take here that is not left lying: less than any look that would find it all the same, and
// more than a busy machine stands still. How quick bells are is for bench to say.
const mostLate = 8 * time.Second

// TestBellLost: the bell's key is deleted again and again. Liveness rests on the timer alone.
func TestBellLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, ran := r.start(waybill.WorkerOptions{PollInterval: 300 * time.Millisecond}, nothing)
	stop := during(func(int) { r.direct.Del(t.Context(), "wb:{q}:bell") })
	defer stop()
	for n := range 10 {
		r.send(n)
		within(t, mostLate, "the timer finds the job", func() bool { return ran.total() == n+1 })
	}
	r.undisturbed(ran, 10)
}

// TestTimerLate: the timer is set to an hour. Speed rests on the bell alone.
func TestTimerLate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, ran := r.start(waybill.WorkerOptions{PollInterval: time.Hour}, nothing)
	took := make([]time.Duration, 20)
	for n := range took {
		r.send(n)
		took[n] = within(t, mostLate, "the bell brings the job", func() bool { return ran.total() == n+1 })
	}
	slices.Sort(took)
	t.Logf("the bell brought jobs in %s, at most %s", took[10], took[19])
	if took[10] > time.Second {
		t.Errorf("the bell is slow: half of the jobs took more than %s", took[10])
	}
	r.send(20, waybill.After(300*time.Millisecond))
	within(t, mostLate, "a job that is due later needs no bell", func() bool { return ran.total() == 21 })
	r.undisturbed(ran, 21)
}
