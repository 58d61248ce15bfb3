package process_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

// TestS24_cancelWithoutWorkers: 100 jobs are cancelled while no worker is there: waiting, delayed, retrying, and ten that
// were running when their worker was killed. None of them runs again, each says when and why, and waits return at once.
func TestS24_cancelWithoutWorkers(t *testing.T) {
	t.Parallel()
	s, dir := newScene(t), t.TempDir()
	var ids []string
	send := func(sort string, n int, o ...waybill.EnqueueOption) {
		for i := range n {
			id := fmt.Sprintf("%s-%d", sort, i)
			s.send(id, o...)
			ids = append(ids, id)
		}
	}
	send("retrying", 20)
	send("running", 10)
	args := []string{"--lease", "1s", "--concurrency", "40", "--exec", "sh", "-c", fmt.Sprintf(
		"cd %s; echo $WAYBILL_JOB_ID >>begun; case $WAYBILL_JOB_ID in retrying-*) exit 1;; running-*) sleep 60;; esac", dir,
	)}
	w := s.work(args...)
	until(t, "twenty failed and ten run", func() bool {
		now := s.stats()
		return now.Failures >= 20 && now.Active == 10
	})
	w.kill()
	send("waiting", 40)
	send("delayed", 30, waybill.After(2*time.Second))
	for _, id := range ids {
		must(t, s.Queue(queue).Cancel(t.Context(), id, "an operator: not wanted"))
	}
	before := begun(dir)
	s.send("other")
	w = s.work(args...)
	got := s.settled()
	until(t, "the delays are over", func() bool { return s.stats().Now.Sub(got.Now) > 2*time.Second })
	w.stop()
	if ran := begun(dir) - before; ran != 1 || got.Cancelled != 100 || got.Completed != 1 {
		t.Errorf("%d ran, %d cancelled, %d completed", ran, got.Cancelled, got.Completed)
	}
	for _, id := range ids {
		j := s.job(id)
		if j.State != waybill.StateCancelled || j.Reason != "an operator: not wanted" || j.FinishedAt.IsZero() {
			t.Errorf("%s is %s, reason %q, since %s", id, j.State, j.Reason, j.FinishedAt)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if _, err := s.Queue(queue).Wait(ctx, id); !errors.Is(err, waybill.ErrCancelled) || !strings.Contains(err.Error(), "not wanted") {
			t.Errorf("a wait for %s is told %v", id, err)
		}
		cancel()
	}
	if _, err := s.Queue(queue).Wait(t.Context(), "never"); !errors.Is(err, waybill.ErrNotFound) {
		t.Errorf("a wait for a job that never was is told %v", err)
	}
}
