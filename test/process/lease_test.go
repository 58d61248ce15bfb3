package process_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

// TestS3_delayedJobIsDeliveredOnce: a job is delayed by three times the lease while four workers
// idle. It is delivered once, at its time.
func TestS3_delayedJobIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	s, dir := newScene(t), t.TempDir()
	for range 4 {
		s.work(append([]string{"--lease", "500ms"}, script(dir, "w")...)...)
	}
	until(t, "the workers are there", func() bool { return s.stats().Workers == 4 })
	touch(t, dir, "go")
	s.send("id", waybill.After(1500*time.Millisecond))
	got := s.settled()
	j := s.job("id")
	if early := j.DueAt.Sub(j.StartedAt); early > 0 || early < -time.Second {
		t.Errorf("due at %v, started at %v", j.DueAt, j.StartedAt)
	}
	if j.State != waybill.StateCompleted || j.Attempt != 1 || got.Deliveries != 1 || begun(dir) != 1 {
		t.Errorf("%s after %d attempts, %d deliveries, begun %d times", j.State, j.Attempt, got.Deliveries, begun(dir))
	}
}

// TestS4_longJobIsStartedOnce: a job runs for five times its lease, renewed meanwhile, beside a
// second worker that claims and takes back what it may.
func TestS4_longJobIsStartedOnce(t *testing.T) {
	t.Parallel()
	const lease = 500 * time.Millisecond
	s, dir := newScene(t), t.TempDir()
	s.send("id")
	for range 2 {
		s.work(append([]string{"--lease", lease.String()}, script(dir, "w")...)...)
	}
	until(t, "the job runs", func() bool { return begun(dir) == 1 })
	until(t, "it has run for five leases", func() bool {
		j := s.job("id")
		if j.State != waybill.StateActive || j.Attempt != 1 || !j.LeaseEndsAt.After(j.At) {
			t.Fatalf("meanwhile it is %s, in attempt %d, its lease ends %v from now", j.State, j.Attempt, j.LeaseEndsAt.Sub(j.At))
		}
		return j.At.Sub(j.StartedAt) > 5*lease
	})
	touch(t, dir, "go")
	got := s.settled()
	if got.Deliveries != 1 || got.Completed != 1 || got.Crashes != 0 || begun(dir) != 1 {
		t.Errorf("%d deliveries, %d completed, %d crashes, begun %d times", got.Deliveries, got.Completed, got.Crashes, begun(dir))
	}
}
