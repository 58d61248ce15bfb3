package fault_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// back is how soon work must go on once Redis is back.
const back = 2 * time.Second

// TestSettleRefused (G4): a handler succeeds, and Redis refuses writes for ten seconds, less than the lease. The
// success is recorded without a second run.
func TestSettleRefused(t *testing.T) {
	t.Parallel()
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
	within(t, back, "the success is recorded", func() bool {
		j, err := r.beside.Queue(queue).Get(t.Context(), id)
		return err == nil && j.State == waybill.StateCompleted && j.Attempt == 1
	})
	r.undisturbed(ran, 1)
}

// TestRestarts (S7): Redis is killed and started again three times, under an idle worker and under a busy one.
func TestRestarts(t *testing.T) {
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, redistest.AOF(), redistest.Config("appendfsync", "always"))
		_, ran := r.start(waybill.WorkerOptions{}, nothing)
		for n := range 3 {
			r.send(n)
			within(t, back, "work goes on", func() bool { return ran.total() == 2*n+1 })
			r.settled()
			r.server.Kill()
			time.Sleep(1500 * time.Millisecond) // the fault's length
			r.server.Restart()
			r.send(n)
			t.Logf("work went on %s after Redis was back", within(t, back, "work goes on", func() bool { return ran.total() == 2*n+2 }))
			r.settled()
		}
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
		for range 3 {
			before := ran.total()
			within(t, 10*time.Second, "the worker is busy", func() bool { return ran.total() > before+100 })
			r.server.Kill()
			time.Sleep(time.Second) // the fault's length
			r.server.Restart()
			before = ran.total()
			t.Logf("work went on %s after Redis was back", within(t, back, "work goes on", func() bool { return ran.total() > before }))
		}
		stop()
		s := r.settled()
		if s.Completed < taken.Load() || s.Crashes != 0 {
			t.Errorf("%d taken, %d completed, %d crashes", taken.Load(), s.Completed, s.Crashes)
		}
	})
}

// TestCutWithoutClose (S7): the connections of a worker fall silent and are not closed.
func TestCutWithoutClose(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, ran := r.start(waybill.WorkerOptions{}, nothing)
	total := 0
	for range 3 {
		for range 30 { // so that the pool holds several connections
			r.send(1)
		}
		total += 31
		within(t, 10*time.Second, "all ran", func() bool { return ran.total() == total-1 })
		r.settled()
		r.proxy.Silence()
		r.send(1)
		t.Logf("work went on after %s", within(t, back, "work goes on", func() bool { return ran.total() == total }))
		r.settled()
	}
	r.undisturbed(ran, total)
}

// TestAwayForTwoLeases: 200 jobs run while Redis is away for two leases. None is stuck, none lost, none run twice by
// the worker that had it.
func TestAwayForTwoLeases(t *testing.T) {
	t.Parallel()
	const jobs, lease = 200, time.Second
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
	within(t, 10*time.Second, "all run", func() bool { return ran.total() == jobs })
	r.server.Kill()
	away := time.Now()
	close(early) // these finish while Redis is away
	within(t, 3*lease, "the attempts that go on are in doubt", func() bool {
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
	within(t, back, "what had finished is recorded", func() bool { return r.stats().Completed == jobs/2 })
	close(late)
	r.undisturbed(ran, jobs)
}

// TestRefusals: Redis answers with an error for a while, of each sort that it has. Nothing is lost, nothing runs twice,
// and work goes on soon after.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		config []redistest.Option
		// refuse begins the fault; what it returns ends it
		refuse func(t *testing.T, r *rig) (end func())
	}{
		{"READONLY", nil, func(t *testing.T, r *rig) func() {
			must(t, r.direct.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
			return func() { must(t, r.direct.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err()) }
		}},
		{"OOM", nil, func(t *testing.T, r *rig) func() {
			must(t, r.direct.ConfigSet(t.Context(), "maxmemory", "1").Err())
			return func() { must(t, r.direct.ConfigSet(t.Context(), "maxmemory", "0").Err()) }
		}},
		{"BUSY", nil, func(t *testing.T, r *rig) func() {
			must(t, r.direct.ConfigSet(t.Context(), "busy-reply-threshold", "20").Err())
			return during(func(int) {
				r.direct.Eval(t.Context(), `local t = redis.call('TIME') local e = t[1] * 1000 + t[2] / 1000 + 300
					repeat local t = redis.call('TIME') until t[1] * 1000 + t[2] / 1000 > e`, nil)
			})
		}},
		{"NOSCRIPT", nil, func(t *testing.T, r *rig) func() {
			return during(func(int) { r.direct.ScriptFlush(t.Context()) })
		}},
		{"UNBLOCKED", nil, func(t *testing.T, r *rig) func() {
			within(t, 10*time.Second, "a worker that listens is refused", r.unblock) // who listens has no hook
			r.refused.codes.Store("UNBLOCKED", true)
			return during(func(int) { r.unblock() })
		}},
		{"MISCONF", []redistest.Option{redistest.Config("save", "3600 1")}, func(t *testing.T, r *rig) func() {
			blocked := filepath.Join(r.server.Dir(), "dump.rdb", "x") // a snapshot can't take the name of a folder
			must(t, os.MkdirAll(blocked, 0o700))
			within(t, 10*time.Second, "a snapshot fails", func() bool {
				r.direct.BgSave(t.Context())
				return strings.Contains(r.direct.Info(t.Context(), "persistence").Val(), "rdb_last_bgsave_status:err")
			})
			return func() { must(t, r.direct.ConfigSet(t.Context(), "stop-writes-on-bgsave-error", "no").Err()) }
		}},
		{"NOREPLICAS", nil, func(t *testing.T, r *rig) func() {
			must(t, r.direct.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
			return func() { must(t, r.direct.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err()) }
		}},
		{"LOADING", []redistest.Option{
			redistest.Config("enable-debug-command", "yes"), redistest.Config("loading-process-events-interval-bytes", "1024"),
		}, func(t *testing.T, r *rig) func() {
			for n := range 300 {
				must(t, r.direct.Set(t.Context(), name("other", n), make([]byte, 100), 0).Err())
			}
			must(t, r.direct.ConfigSet(t.Context(), "key-load-delay", "5000").Err()) // µs a key
			done := make(chan struct{})
			patient := r.server.Client()
			patient.Options().ReadTimeout = time.Minute
			go func() {
				defer close(done)
				patient.Do(context.WithoutCancel(t.Context()), "DEBUG", "RELOAD")
			}()
			return func() {
				<-done
				r.direct.ConfigSet(t.Context(), "key-load-delay", "0")
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.config...)
			r.rdb.AddHook(&r.refused)
			r.direct.AddHook(&r.refused)
			held := make(chan struct{})
			_, ran := r.start(waybill.WorkerOptions{Lease: 10 * time.Second}, func(_ context.Context, job *waybill.Job[int]) error {
				if job.Args == -1 { // it ends in the midst of the fault
					<-held
				}
				return nil
			})
			taken := 1
			r.send(-1)
			within(t, 10*time.Second, "the first runs", func() bool { return ran.total() == 1 })
			end := c.refuse(t, r)
			close(held)
			pace := time.NewTicker(5 * time.Millisecond) // so that the worker is also seen waiting
			defer pace.Stop()
			for began := time.Now(); time.Since(began) < 1500*time.Millisecond; <-pace.C {
				if took(t, r.beside) {
					taken++
				}
			}
			end()
			within(t, back, "a job is taken again", func() bool { return took(t, r.beside) })
			taken++
			within(t, back, "and everything runs", func() bool { return ran.total() == taken })
			r.undisturbed(ran, taken)
			if !r.refused.has(c.name) {
				t.Errorf("no call was answered %s", c.name)
			}
		})
	}
}

// unblock refuses all that block, and tells whether there was one.
func (r *rig) unblock() (one bool) {
	list, _ := r.direct.Do(r.t.Context(), "CLIENT", "LIST").Text()
	for line := range strings.Lines(list) {
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
		if strings.Contains(line, " cmd=blpop ") && r.direct.Do(r.t.Context(), "CLIENT", "UNBLOCK", id, "ERROR").Val() == int64(1) {
			one = true
		}
	}
	return one
}

// refusals are the error codes that Redis answered, as a hook of a client.
type refusals struct{ codes sync.Map }

func (r *refusals) has(code string) bool {
	_, ok := r.codes.Load(code)
	return ok
}

func (r *refusals) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *refusals) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (r *refusals) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err != nil {
			code, _, _ := strings.Cut(err.Error(), " ")
			r.codes.Store(code, true)
		}
		return err
	}
}

// took enqueues one job and tells whether it was taken. Every answer must be one of those that are documented.
func took(t *testing.T, c *waybill.Client) bool {
	t.Helper()
	e, err := work.Enqueue(t.Context(), c, 1)
	for errors.Is(err, waybill.ErrUnknown) {
		e, err = work.Enqueue(t.Context(), c, 1, waybill.ID(e.ID))
	}
	if err != nil && !errors.Is(err, waybill.ErrUnavailable) {
		t.Errorf("an enqueue was told %s, %v", e.Outcome, err)
	}
	return err == nil
}

// TestPasswordRotated: the password changes under a worker, which for a while has only the old one.
func TestPasswordRotated(t *testing.T) {
	t.Parallel()
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
	within(t, back, "work goes on with the new password", func() bool { return ran.total() == 1 })
	r.undisturbed(ran, 1)
}
