package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/waybillhq/waybill"
)

// TestKill: the program is killed in the middle, again and again, while a worker of Waybill runs what has come.
func TestKill(t *testing.T) {
	t.Parallel()
	const tasks, perKill = 3000, 250
	s := newSite(t)
	for i := range tasks {
		s.enqueue("k", fmt.Sprint("t-", i))
	}
	ran := s.work("mail")
	kills, killed := 0, 0
	for {
		before := s.accepted()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "--from", s.url, "--to", s.url)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		must(t, cmd.Start())
		s.until("some more are moved", func() bool { return s.accepted() >= min(before+perKill, tasks) })
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err != nil {
			killed++
		}
		if kills++; s.accepted() == tasks {
			break
		}
	}
	t.Logf("%d runs, %d of them killed", kills, killed)
	if killed < 5 {
		t.Errorf("only %d runs were killed", killed)
	}
	s.move(0)
	if n := s.info().Size; n != 0 {
		t.Errorf("%d tasks are left in asynq", n)
	}
	s.until("all jobs are done", func() bool { return s.stats().Live() == 0 })
	for i := range tasks {
		if n := ran(fmt.Sprint("t-", i)); n != 1 {
			t.Errorf("t-%d ran %d times", i, n)
		}
	}
	if got := s.stats(); got.Accepted != tasks || got.Completed != tasks {
		t.Errorf("%d accepted, %d completed, want %d", got.Accepted, got.Completed, tasks)
	}
}

func (s *site) stats() waybill.QueueStats {
	s.t.Helper()
	stats, err := s.jobs.Queue("mail").Stats(s.t.Context())
	must(s.t, err)
	return stats
}

func (s *site) accepted() int64 { return s.stats().Accepted }

// work runs a worker until the test ends, and tells how often it ran a job.
func (s *site) work(queue string) (ran func(id string) int) {
	s.t.Helper()
	var mu sync.Mutex
	times := map[string]int{}
	worker, err := waybill.NewWorker(s.jobs, waybill.WorkerOptions{Queues: []waybill.QueueOptions{{Name: queue}}})
	must(s.t, err)
	worker.HandleFunc(waybill.AnyKind, waybill.KindOptions{}, func(_ context.Context, a *waybill.Attempt) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		times[a.ID]++
		return nil, nil
	})
	ctx, stop := context.WithCancel(s.t.Context())
	done := make(chan error)
	go func() { done <- worker.Run(ctx) }()
	s.t.Cleanup(func() {
		stop()
		must(s.t, <-done)
	})
	return func(id string) int {
		mu.Lock()
		defer mu.Unlock()
		return times[id]
	}
}
