package fault_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// TestG4_settleRefused: a handler succeeds, and Redis refuses writes for ten seconds, less than the lease. The
// success is recorded without a second run.
func TestG4_settleRefused(t *testing.T) {
	t.Parallel()
	soon(t, back, func() time.Duration { return settleRefused(t) })
}

func settleRefused(t *testing.T) time.Duration {
	t.Helper()
	r := newRig(t)
	running, finish := make(chan struct{}), make(chan struct{})
	_, ran := r.start(waybill.WorkerOptions{}, func(context.Context, *waybill.Job[int]) error {
		close(running)
		<-finish
		return nil
	})
	id := r.send(1, waybill.Retention(time.Hour))
	<-running
	must(t, r.direct.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err()) // there are none: every write is refused
	close(finish)
	time.Sleep(10 * time.Second) // the fault's length, not a wait for something
	if j, err := r.beside.Queue(queue).Get(t.Context(), id); err != nil || j.State != waybill.StateActive {
		t.Errorf("while writes are refused the job is %s, %v", j.State, err)
	}
	must(t, r.direct.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
	took := within(t, latest, "the success is recorded", func() bool {
		j, err := r.beside.Queue(queue).Get(t.Context(), id)
		return err == nil && j.State == waybill.StateCompleted && j.Attempt == 1
	})
	r.undisturbed(ran, 1)
	return took
}

// TestS7_restarts: Redis is killed and started again three times, under an idle worker and under a busy one.
func TestS7_restarts(t *testing.T) {
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, redistest.AOF(), redistest.Config("appendfsync", "always"))
		_, ran := r.start(waybill.WorkerOptions{}, nothing)
		took := make([]time.Duration, 3)
		for n := range took {
			r.send(n)
			within(t, latest, "work goes on", func() bool { return ran.total() == 2*n+1 })
			r.settled()
			r.server.Kill()
			time.Sleep(1500 * time.Millisecond) // the fault's length
			r.server.Restart()
			r.send(n)
			took[n] = within(t, latest, "work goes on", func() bool { return ran.total() == 2*n+2 })
			r.settled()
		}
		best(t, back, took)
		r.undisturbed(ran, 6)
	})
	t.Run("busy", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, redistest.AOF(), redistest.Config("appendfsync", "always"))
		_, ran := r.start(waybill.WorkerOptions{Concurrency: 20}, nothing)
		var taken atomic.Int64
		stop := during(func(int) {
			if e, err := work.Enqueue(t.Context(), r.client, 1); err == nil {
				taken.Add(1)
			} else if errors.Is(err, waybill.ErrUnknown) {
				if _, err := work.Enqueue(t.Context(), r.client, 1, waybill.ID(e.ID)); err == nil {
					taken.Add(1)
				}
			}
		})
		took := make([]time.Duration, 3)
		for n := range took {
			before := ran.total()
			within(t, latest, "the worker is busy", func() bool { return ran.total() > before+100 })
			r.server.Kill()
			time.Sleep(time.Second) // the fault's length
			r.server.Restart()
			before = ran.total()
			took[n] = within(t, latest, "work goes on", func() bool { return ran.total() > before })
		}
		best(t, back, took)
		stop()
		s := r.settled()
		if s.Completed < taken.Load() || s.Crashes != 0 {
			t.Errorf("%d taken, %d completed, %d crashes", taken.Load(), s.Completed, s.Crashes)
		}
	})
}

// TestS7_cutWithoutClose: the connections of a worker fall silent and are not closed.
func TestS7_cutWithoutClose(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, ran := r.start(waybill.WorkerOptions{}, nothing)
	total, took := 0, make([]time.Duration, 3)
	for n := range took {
		for range 30 { // so that the pool holds several connections
			r.send(1)
		}
		total += 31
		within(t, latest, "all ran", func() bool { return ran.total() == total-1 })
		r.settled()
		r.proxy.Silence()
		r.send(1)
		took[n] = within(t, latest, "work goes on", func() bool { return ran.total() == total })
		r.settled()
	}
	best(t, back, took)
	r.undisturbed(ran, total)
}

// TestAwayForTwoLeases: 200 jobs run while Redis is away for two leases. None is stuck, none lost, none run twice by
// the worker that had it.
func TestAwayForTwoLeases(t *testing.T) {
	t.Parallel()
	soon(t, back, func() time.Duration { return awayForTwoLeases(t) })
}

func awayForTwoLeases(t *testing.T) time.Duration {
	t.Helper()
	const jobs, lease = 200, 3 * time.Second // long beside the stalls of a busy machine
	r := newRig(t, redistest.AOF(), redistest.Config("appendfsync", "always"))
	early, late := make(chan struct{}), make(chan struct{})
	w, ran := r.start(waybill.WorkerOptions{Concurrency: jobs, Lease: lease}, func(ctx context.Context, job *waybill.Job[int]) error {
		wait := early
		if job.Args%2 == 0 {
			wait = late
		}
		select {
		case <-wait:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	for n := range jobs {
		r.send(n)
	}
	within(t, latest, "all run", func() bool { return ran.total() == jobs })
	r.server.Kill()
	away := time.Now()
	close(early) // these finish while Redis is away
	within(t, latest, "the attempts that go on are in doubt", func() bool {
		running := w.Running()
		for _, a := range running {
			if !a.InDoubt {
				return false
			}
		}
		return len(running) == jobs/2
	})
	time.Sleep(2*lease + lease/2 - time.Since(away)) // the fault's length
	r.server.Restart()
	took := within(t, latest, "what had finished is recorded", func() bool { return r.stats().Completed == jobs/2 })
	close(late)
	r.undisturbed(ran, jobs)
	return took
}

// TestPasswordRotated: the password changes under a worker, which for a while has only the old one.
func TestPasswordRotated(t *testing.T) {
	t.Parallel()
	soon(t, back, func() time.Duration { return passwordRotated(t) })
}

func passwordRotated(t *testing.T) time.Duration {
	t.Helper()
	srv := redistest.Start(t)
	direct := srv.Client()
	var password atomic.Value
	password.Store("")
	rdb := redis.NewClient(&redis.Options{
		Network: srv.Network(), Addr: srv.Addr(),
		CredentialsProvider: func() (string, string) { return "", password.Load().(string) },
	})
	t.Cleanup(func() { _ = rdb.Close() })
	r := &rig{t: t, server: srv, direct: direct, rdb: rdb, client: newClient(t, rdb)}
	_, ran := r.start(waybill.WorkerOptions{}, nothing)
	must(t, direct.ConfigSet(t.Context(), "requirepass", "secret").Err())
	direct.Options().Password = "secret"
	r.beside = newClient(t, direct)
	for _, kind := range []string{"normal", "pubsub"} {
		must(t, direct.Do(t.Context(), "CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes").Err())
	}
	if e, err := work.Enqueue(t.Context(), r.client, 1); !errors.Is(err, waybill.ErrUnavailable) {
		t.Errorf("without the password: %s, %v", e.Outcome, err)
	}
	r.send(1)
	if ran.total() != 0 {
		t.Error("a worker without the password ran a job")
	}
	password.Store("secret")
	took := within(t, latest, "work goes on with the new password", func() bool { return ran.total() == 1 })
	r.undisturbed(ran, 1)
	return took
}
