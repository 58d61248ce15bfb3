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
// were running when their worker was killed. None of them runs again, each says when and why, and waits return at once;
// so do waits for jobs that were completed, deleted, or never there.
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
		"cd %s; echo $WAYBILL_JOB_ID >>begun; case $WAYBILL_JOB_ID in retrying-*) exit 1;; running-*) sleep 60;; esac; printf result", dir,
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
	waitsAtOnce(t, s)
}

// waitsAtOnce waits for job "other", which was completed, for jobs that were deleted, and for one that never was.
func waitsAtOnce(t *testing.T, s *scene) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s.send("removed")
	s.send("forgotten")
	must(t, s.Queue(queue).Delete(ctx, "removed", waybill.DeleteOptions{}))
	must(t, s.Queue(queue).Delete(ctx, "forgotten", waybill.DeleteOptions{Forget: true}))
	if result, err := s.Queue(queue).Wait(ctx, "other"); err != nil || string(result) != "result" {
		t.Errorf("a wait for a completed job is told %q, %v", result, err)
	}
	for id, want := range map[string]error{
		"removed": waybill.ErrDeleted, "forgotten": waybill.ErrNotFound, "never": waybill.ErrNotFound,
	} {
		if _, err := s.Queue(queue).Wait(ctx, id); !errors.Is(err, want) {
			t.Errorf("a wait for job %s is told %v, want %v", id, err, want)
		}
	}
}
