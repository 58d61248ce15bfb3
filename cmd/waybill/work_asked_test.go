package main_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/waybillhq/waybill"
)

// TestWork_askedToStop: an operator's wish is no signal. A supervisor's first one after it does not end jobs.
func TestWork_askedToStop(t *testing.T) {
	t.Parallel()
	asked := func(t *testing.T) (*process, string, *waybill.Client) {
		t.Helper()
		s, c := held(t)
		p, pid := worker(t, s, "")
		all, err := c.Workers(t.Context())
		must(t, err)
		if len(all) != 1 {
			t.Fatalf("workers: %+v", all)
		}
		must(t, c.StopWorker(t.Context(), all[0].ID))
		until(t, "it stops", func() bool { return strings.Contains(p.stderr(), "stopping") })
		p.signal(syscall.SIGTERM)
		until(t, "it heeds the signal", func() bool { return strings.Contains(p.stderr(), "signal=terminated") })
		return p, pid, c
	}
	t.Run("TERM after it leaves the jobs their grace", func(t *testing.T) {
		t.Parallel()
		p, pid, c := asked(t)
		goOn(t, pid)
		if got := p.status(); got != 0 {
			t.Errorf("status %d: %s", got, p.stderr())
		}
		if j := job(t, c, "id"); j.State != waybill.StateCompleted || j.Attempt != 1 {
			t.Errorf("job is %s after %d attempts", j.State, j.Attempt)
		}
	})
	t.Run("a second TERM ends them at once", func(t *testing.T) {
		t.Parallel()
		p, pid, _ := asked(t)
		p.signal(syscall.SIGTERM)
		if got := p.status(); got != 1 {
			t.Errorf("status %d: %s", got, p.stderr())
		}
		gone(t, pid)
	})
}
