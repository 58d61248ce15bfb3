package fault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// TestDiskFull: the disk of Redis's append-only file runs full under producers and a worker. A server that syncs every
// second then refuses writes (MISCONF); one that syncs always exits, and is started again once there is room. Either way
// the worker says that Redis is away, nothing that was told accepted is lost, and work goes on when there is room.
func TestDiskFull(t *testing.T) {
	for _, grade := range []string{"everysec", "always"} {
		t.Run(grade, func(t *testing.T) {
			t.Parallel()
			soon(t, back, func() time.Duration { return diskFull(t, grade) })
		})
	}
}

func diskFull(t *testing.T, grade string) time.Duration {
	t.Helper()
	r := newRig(t, redistest.Preload(), redistest.AOF(), redistest.Config("appendfsync", grade))
	told := newEndings()
	var down, up atomic.Int64
	var why atomic.Value
	_, ran := r.start(waybill.WorkerOptions{Observe: func(e waybill.Event) {
		told.observe(e)
		switch e.Type {
		case waybill.EventRedisDown:
			why.Store(fmt.Sprint(e.Err))
			down.Add(1)
		case waybill.EventRedisUp:
			up.Add(1)
		}
	}}, func(context.Context, *waybill.Job[int]) error { return nil })
	p := &eager{of: map[string]bool{}}
	stop := during(func(n int) { p.send(t, r.client, name("job-", n)) })
	within(t, latest, "work is under way", func() bool { return ran.total() > 100 })

	r.server.Disk().Fill(4000) // the write that crosses it is torn
	within(t, latest, "the worker says that Redis is away", func() bool { return down.Load() > up.Load() })
	full := p.refused.Load()
	within(t, latest, "the producer is told so", func() bool { return p.refused.Load() > full })
	if grade == "always" {
		<-r.server.Done()
	} else if said := why.Load().(string); !strings.Contains(said, "MISCONF") {
		t.Errorf("the worker says: %s", said)
	}

	r.server.Disk().Free()
	if grade == "always" {
		r.server.Restart()
	} else {
		within(t, latest, "the server takes writes", func() bool { return r.direct.Set(t.Context(), "probe", "", 0).Err() == nil })
	}
	before := ran.total()
	took := within(t, latest, "work goes on", func() bool { return ran.total() > before })
	within(t, latest, "the worker says that Redis is back", func() bool { return up.Load() == down.Load() })
	stop()
	r.settled()
	p.complete(t, r.beside)
	return took
}

// eager is a producer that goes on whatever it is told.
type eager struct {
	refused atomic.Int64

	mu sync.Mutex
	of map[string]bool // the jobs that were told accepted
}

func (p *eager) send(t *testing.T, c *waybill.Client, id string) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := work.Enqueue(ctx, c, 1, waybill.ID(id), waybill.Retention(time.Hour))
	switch {
	case err == nil:
		p.mu.Lock()
		p.of[id] = true
		p.mu.Unlock()
	case errors.Is(err, waybill.ErrUnavailable), errors.Is(err, waybill.ErrUnknown):
		p.refused.Add(1)
	default:
		t.Errorf("enqueue: %v", err)
	}
}

// complete expects that every job that was told accepted was completed.
func (p *eager) complete(t *testing.T, c *waybill.Client) {
	t.Helper()
	done := map[string]bool{}
	for j, err := range c.Queue(queue).Jobs(t.Context(), waybill.Filter{}) {
		must(t, err)
		done[j.ID] = j.State == waybill.StateCompleted
	}
	lost := 0
	for id := range p.of {
		if !done[id] {
			lost++
		}
	}
	t.Logf("%d jobs were told accepted, %d calls were refused", len(p.of), p.refused.Load())
	if lost > 0 {
		t.Errorf("of %d jobs that were told accepted %d are not completed", len(p.of), lost)
	}
}
