package process_test

import (
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

// TestS3_delayedJobIsDeliveredOnce: jobs are delayed by three times the lease and more while four workers idle. Each is
// delivered once, none before its time, and at it, where the machine has time for one of them.
func TestS3_delayedJobIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	s, dir := newScene(t), t.TempDir()
	for range 4 {
		s.work(append([]string{"--lease", "1s"}, script(dir, "w")...)...)
	}
	until(t, "the workers are there", func() bool { return s.stats().Workers == 4 })
	touch(t, dir, "go")
	delays := []time.Duration{3 * time.Second, 3500 * time.Millisecond, 4 * time.Second}
	for _, d := range delays {
		s.send(d.String(), waybill.After(d))
	}
	got := s.settled()
	late := make([]time.Duration, len(delays))
	for i, d := range delays {
		j := s.job(d.String())
		late[i] = j.StartedAt.Sub(j.DueAt)
		if late[i] < 0 || j.State != waybill.StateCompleted || j.Attempt != 1 {
			t.Errorf("%s after %d attempts, due at %v, started at %v", j.State, j.Attempt, j.DueAt, j.StartedAt)
		}
	}
	if slices.Min(late) > time.Second {
		t.Errorf("started too late, by %s", late)
	}
	if n := len(delays); got.Deliveries != int64(n) || begun(dir) != n {
		t.Errorf("%d deliveries, begun %d times", got.Deliveries, begun(dir))
	}
}

// TestS4_longJobIsStartedOnce: a job runs for five times its lease, renewed meanwhile, beside a
// second worker that claims and takes back what it may.
func TestS4_longJobIsStartedOnce(t *testing.T) {
	t.Parallel()
	const lease = time.Second
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
