package fault_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

// TestBellLost: the bell's key is deleted again and again. Liveness rests on the timer alone.
func TestBellLost(t *testing.T) {
	t.Parallel()
	const poll = 300 * time.Millisecond
	r := newRig(t)
	_, ran := r.start(waybill.WorkerOptions{PollInterval: poll}, nothing)
	stop := during(func(int) { r.direct.Del(t.Context(), "wb:{q}:bell") })
	defer stop()
	for n := range 10 {
		r.send(n)
		within(t, poll+time.Second, "the timer finds the job", func() bool { return ran.total() == n+1 })
	}
	r.undisturbed(ran, 10)
}

// TestTimerLate: the timer is set to an hour. Speed rests on the bell alone.
func TestTimerLate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, ran := r.start(waybill.WorkerOptions{PollInterval: time.Hour}, nothing)
	for n := range 20 {
		r.send(n)
		within(t, time.Second, "the bell brings the job", func() bool { return ran.total() == n+1 })
	}
	r.send(20, waybill.After(300*time.Millisecond))
	within(t, 1300*time.Millisecond, "a job that is due later needs no bell", func() bool { return ran.total() == 21 })
	r.undisturbed(ran, 21)
}
