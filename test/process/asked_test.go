package process_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

// TestWorkersAreAskedFromElsewhere: an operator makes a worker process quiet, and then stops it. It takes nothing more, and
// ends in order, with its job done.
func TestWorkersAreAskedFromElsewhere(t *testing.T) {
	t.Parallel()
	s, dir := newScene(t), t.TempDir()
	w := s.work(append([]string{"--concurrency", "1", "--grace", "1m"}, script(dir, "w")...)...)
	s.send("first")
	until(t, "its job runs", func() bool { return begun(dir) == 1 })
	all, err := s.Workers(t.Context())
	must(t, err)
	if len(all) != 1 || all[0].PID != w.cmd.Process.Pid {
		t.Fatalf("%+v: want the one process %d", all, w.cmd.Process.Pid)
	}
	must(t, s.QuietWorker(t.Context(), all[0].ID))
	until(t, "it says that it is quiet", func() bool {
		all, err := s.Workers(t.Context())
		return err == nil && len(all) == 1 && all[0].State == waybill.WorkerQuiet
	})
	s.send("second")
	must(t, s.StopWorker(t.Context(), all[0].ID))
	until(t, "it says that it stops", func() bool {
		all, err := s.Workers(t.Context())
		return err == nil && len(all) == 1 && all[0].State == waybill.WorkerStopping
	})
	touch(t, dir, "go")
	select {
	case <-w.ended:
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	if got := w.cmd.ProcessState.ExitCode(); got != 0 {
		t.Errorf("status %d", got)
	}
	if first, second := s.job("first"), s.job("second"); first.State != waybill.StateCompleted || second.State != waybill.StateReady {
		t.Errorf("first %s, second %s: want completed, ready", first.State, second.State)
	}
	if all, err = s.Workers(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v: want nobody", all, err)
	}
}
