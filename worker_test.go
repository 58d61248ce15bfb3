package waybill_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// start runs a worker until the test ends, and gives what stops it and waits.
func start(t *testing.T, w *waybill.Worker) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	stopped := false
	stop = func() error {
		cancel()
		stopped = true
		return <-ended
	}
	t.Cleanup(func() {
		if !stopped {
			if err := stop(); err != nil {
				t.Errorf("worker: %v", err)
			}
		}
	})
	return stop
}

func newWorker(t *testing.T, c *waybill.Client, o waybill.WorkerOptions) *waybill.Worker {
	t.Helper()
	w, err := waybill.NewWorker(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// await waits until a job is in a state.
func await(t *testing.T, c *waybill.Client, queue, id string, state waybill.State) waybill.JobInfo {
	t.Helper()
	var info waybill.JobInfo
	until(t, fmt.Sprintf("job %s is %s", id, state), func() bool {
		var err error
		info, err = c.Queue(queue).Get(t.Context(), id)
		return err == nil && info.State == state
	})
	return info
}

// ends says how a handler is to end its n-th attempt.
type ends func(ctx context.Context, job *waybill.Job[number]) error

// one enqueues a job for a handler and waits for its end.
func one(t *testing.T, c *waybill.Client, queue string, o waybill.KindOptions, h ends, want waybill.State, opts ...waybill.EnqueueOption) waybill.JobInfo {
	t.Helper()
	o.Queue = queue
	if o.Retry == nil {
		o.Retry = waybill.Fixed(time.Millisecond)
	}
	kind := waybill.Define[number]("k", o)
	w := newWorker(t, c, waybill.WorkerOptions{Lease: 600 * time.Millisecond})
	kind.Handle(w, h)
	stop := start(t, w)
	e, err := kind.Enqueue(t.Context(), c, number{1}, append(opts, waybill.Retention(time.Hour))...)
	if err != nil {
		t.Fatal(err)
	}
	info := await(t, c, queue, e.ID, want)
	if err := stop(); err != nil {
		t.Errorf("worker: %v", err)
	}
	return info
}

func TestWorker_Ends(t *testing.T) {
	t.Parallel()
	c := shared(t)
	boom := errors.New("boom")

	t.Run("an error is retried until the job is done", func(t *testing.T) {
		t.Parallel()
		info := one(t, c, "retry", waybill.KindOptions{}, func(_ context.Context, job *waybill.Job[number]) error {
			if job.Number < 3 {
				return boom
			}
			return nil
		}, waybill.StateCompleted)
		if info.Attempt != 3 || info.Failures != 2 || info.Crashes != 0 || len(info.Errors) != 2 {
			t.Errorf("%+v", info)
		}
	})
	t.Run("the last failure kills, and the errors are kept", func(t *testing.T) {
		t.Parallel()
		info := one(t, c, "dies", waybill.KindOptions{MaxFailures: 2}, func(context.Context, *waybill.Job[number]) error {
			return boom
		}, waybill.StateDead)
		if info.Failures != 2 || len(info.Errors) != 2 || info.Errors[1].Message != "boom" || info.Errors[1].Type != "failure" {
			t.Errorf("%+v", info)
		}
	})
	t.Run("the record's max failures beat the worker's", func(t *testing.T) {
		t.Parallel()
		info := one(t, c, "record", waybill.KindOptions{MaxFailures: 9}, func(_ context.Context, job *waybill.Job[number]) error {
			if job.MaxFailures != 1 {
				return waybill.Cancel("max failures are not the record's")
			}
			return boom
		}, waybill.StateDead, waybill.MaxFailures(1))
		if info.Failures != 1 {
			t.Errorf("failures %d", info.Failures)
		}
	})
	t.Run("Dead kills at once, also when wrapped", func(t *testing.T) {
		t.Parallel()
		info := one(t, c, "dead", waybill.KindOptions{}, func(context.Context, *waybill.Job[number]) error {
			return fmt.Errorf("charge: %w", waybill.Dead(boom))
		}, waybill.StateDead)
		if info.Failures != 1 || info.Errors[0].Message != "charge: boom" {
			t.Errorf("%+v", info)
		}
	})
	t.Run("Snooze puts off and counts no failure", func(t *testing.T) {
		t.Parallel()
		info := one(t, c, "snooze", waybill.KindOptions{MaxFailures: 1}, func(_ context.Context, job *waybill.Job[number]) error {
			if job.Number < 3 {
				return waybill.Snooze(time.Millisecond)
			}
			return nil
		}, waybill.StateCompleted)
		if info.Snoozes != 2 || info.Failures != 0 {
			t.Errorf("%+v", info)
		}
	})
	t.Run("RetryAfter beats the policy and counts a failure", func(t *testing.T) {
		t.Parallel()
		o := waybill.KindOptions{Retry: waybill.Fixed(time.Hour)}
		info := one(t, c, "after", o, func(_ context.Context, job *waybill.Job[number]) error {
			if job.Number == 1 {
				return waybill.RetryAfter(time.Millisecond, boom)
			}
			return nil
		}, waybill.StateCompleted)
		if info.Failures != 1 {
			t.Errorf("%+v", info)
		}
	})
	t.Run("Cancel ends as cancelled with its reason", func(t *testing.T) {
		t.Parallel()
		info := one(t, c, "cancel", waybill.KindOptions{}, func(context.Context, *waybill.Job[number]) error {
			return waybill.Cancel("user is gone")
		}, waybill.StateCancelled)
		if info.Reason != "user is gone" || info.Failures != 0 {
			t.Errorf("%+v", info)
		}
	})
	t.Run("a panic is a failure with its stack", func(t *testing.T) {
		t.Parallel()
		info := one(t, c, "panic", waybill.KindOptions{MaxFailures: 1}, func(context.Context, *waybill.Job[number]) error {
			panic("oh")
		}, waybill.StateDead)
		if e := info.Errors[0]; e.Type != "panic" || e.Message != "panic: oh" || !strings.Contains(e.Stack, "worker_test.go") {
			t.Errorf("%+v", info.Errors)
		}
	})
	t.Run("a timeout ends the context with its cause and is told as such", func(t *testing.T) {
		t.Parallel()
		o := waybill.KindOptions{MaxFailures: 1, Timeout: 20 * time.Millisecond}
		info := one(t, c, "slow", o, func(ctx context.Context, _ *waybill.Job[number]) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, waybill.StateDead)
		if e := info.Errors[0]; e.Type != "timeout" || e.Message != waybill.ErrTimeout.Error() {
			t.Errorf("%+v", e)
		}
	})
	t.Run("so is the timeout of a handler that never looked at its context", func(t *testing.T) {
		t.Parallel()
		o := waybill.KindOptions{MaxFailures: 1, Timeout: time.Millisecond}
		info := one(t, c, "blind", o, func(context.Context, *waybill.Job[number]) error {
			<-time.After(20 * time.Millisecond)
			return boom
		}, waybill.StateDead)
		if e := info.Errors[0]; e.Type != "timeout" || e.Message != "boom" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("a payload that can't be decoded is dead, not retried", func(t *testing.T) {
		t.Parallel()
		w := newWorker(t, c, waybill.WorkerOptions{})
		waybill.Define[number]("k", waybill.KindOptions{Queue: "decode"}).Handle(w, func(context.Context, *waybill.Job[number]) error {
			return nil
		})
		start(t, w)
		e, _ := c.Enqueue(t.Context(), waybill.Request{Queue: "decode", Kind: "k", Payload: []byte("{")})
		info := await(t, c, "decode", e.ID, waybill.StateDead)
		if !strings.Contains(info.Errors[0].Message, "decode payload") {
			t.Errorf("%+v", info.Errors)
		}
	})
}

func TestWorker_Results(t *testing.T) {
	t.Parallel()
	c := shared(t)
	kind := waybill.DefineResult[number, []byte]("square", waybill.KindOptions{Retention: time.Hour})
	w := newWorker(t, c, waybill.WorkerOptions{})
	kind.Handle(w, func(_ context.Context, job *waybill.Job[number]) ([]byte, error) {
		return make([]byte, job.Args.N), nil
	})
	start(t, w)
	for name, tc := range map[string]struct {
		size    int
		dropped bool
	}{
		"a result is kept byte by byte":                       {size: 7},
		"an empty result is a result":                         {size: 0},
		"a result at the limit is kept":                       {size: 256 << 10},
		"over the limit the job is done and the drop is told": {size: 256<<10 + 1, dropped: true},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := kind.Enqueue(t.Context(), c, number{tc.size})
			if err != nil {
				t.Fatal(err)
			}
			info := await(t, c, "default", e.ID, waybill.StateCompleted)
			if info.ResultDropped != tc.dropped || !tc.dropped && (info.Result == nil || len(info.Result) != tc.size) {
				t.Errorf("result of %d bytes, dropped %v", len(info.Result), info.ResultDropped)
			}
		})
	}
}

// S4: a job that runs five times the lease.
func TestWorker_RenewsItsLease(t *testing.T) {
	t.Parallel()
	c := shared(t)
	kind := waybill.Define[number]("long", waybill.KindOptions{})
	var starts atomic.Int64
	for range 2 {
		w := newWorker(t, c, waybill.WorkerOptions{Lease: 200 * time.Millisecond})
		kind.Handle(w, func(ctx context.Context, _ *waybill.Job[number]) error {
			starts.Add(1)
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Second):
				return nil
			}
		})
		start(t, w)
	}
	e, _ := kind.Enqueue(t.Context(), c, number{1}, waybill.Retention(time.Hour))
	info := await(t, c, "default", e.ID, waybill.StateCompleted)
	if starts.Load() != 1 || info.Attempt != 1 || info.Crashes != 0 {
		t.Errorf("starts %d, attempts %d, crashes %d", starts.Load(), info.Attempt, info.Crashes)
	}
}

func TestWorker_LosesItsLease(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), shared(t)
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	w := newWorker(t, c, waybill.WorkerOptions{Lease: 300 * time.Millisecond})
	causes, checks := make(chan error, 1), make(chan error, 1)
	kind.Handle(w, func(ctx context.Context, job *waybill.Job[number]) error {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		checks <- job.Check(context.WithoutCancel(ctx))
		return nil
	})
	start(t, w)
	e, _ := kind.Enqueue(ctx, c, number{1}, waybill.ID("x"))
	await(t, c, "default", e.ID, waybill.StateActive)
	if err := c.Queue("").Delete(ctx, e.ID, waybill.DeleteOptions{}); !errors.Is(err, waybill.ErrState) {
		t.Errorf("delete of an active job: %v", err)
	}
	if err := c.Queue("").Delete(ctx, e.ID, waybill.DeleteOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if err := <-causes; !errors.Is(err, waybill.ErrLeaseLost) {
		t.Errorf("cause %v", err)
	}
	if err := <-checks; !errors.Is(err, waybill.ErrLeaseLost) {
		t.Errorf("check %v", err)
	}
	until(t, "the late end is told stale", func() bool { return stats(t, c, "").Stale == 1 })
	if s := stats(t, c, ""); s.Completed != 0 || s.Deleted != 1 {
		t.Errorf("completed %d, deleted %d", s.Completed, s.Deleted)
	}
}

// G8: cancel means cancel.
func TestWorker_CancelOfARunningJob(t *testing.T) {
	t.Parallel()
	c := shared(t)
	kind := waybill.Define[number]("k", waybill.KindOptions{MaxFailures: 1})
	w := newWorker(t, c, waybill.WorkerOptions{Lease: 300 * time.Millisecond})
	kind.Handle(w, func(ctx context.Context, _ *waybill.Job[number]) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
	start(t, w)
	e, _ := kind.Enqueue(t.Context(), c, number{1})
	await(t, c, "default", e.ID, waybill.StateActive)
	if err := c.Queue("").Cancel(t.Context(), e.ID, "not needed"); err != nil {
		t.Fatal(err)
	}
	info := await(t, c, "default", e.ID, waybill.StateCancelled)
	if info.Reason != "not needed" || info.Failures != 0 || len(info.Errors) != 0 {
		t.Errorf("%+v", info)
	}
}

func TestWorker_Stops(t *testing.T) {
	t.Parallel()
	t.Run("what a handler ends within the grace is settled", func(t *testing.T) {
		t.Parallel()
		c := shared(t)
		info, err := stopDuring(t, c, time.Minute, func(_ context.Context, job *waybill.Job[number]) error {
			<-job.Stopping()
			return nil
		})
		if err != nil || info.State != waybill.StateCompleted {
			t.Errorf("%s, %v", info.State, err)
		}
	})
	t.Run("after the grace the context ends and the job is released, not failed", func(t *testing.T) {
		t.Parallel()
		c := shared(t)
		info, err := stopDuring(t, c, time.Millisecond, func(ctx context.Context, _ *waybill.Job[number]) error {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), waybill.ErrShutdown) {
				return nil
			}
			return context.Cause(ctx)
		})
		if err != nil || info.State != waybill.StateReady || info.Failures+info.Crashes != 0 {
			t.Errorf("%s, failures %d, crashes %d, %v", info.State, info.Failures, info.Crashes, err)
		}
	})
	t.Run("the job of a handler that does not return is released, and told", func(t *testing.T) {
		t.Parallel()
		c := shared(t)
		hang := make(chan struct{})
		t.Cleanup(func() { close(hang) })
		info, err := stopDuring(t, c, time.Millisecond, func(context.Context, *waybill.Job[number]) error {
			<-hang
			return nil
		})
		if err == nil || info.State != waybill.StateReady {
			t.Errorf("%s, %v", info.State, err)
		}
	})
}

// stopDuring stops a worker while its handler runs.
func stopDuring(t *testing.T, c *waybill.Client, grace time.Duration, h ends) (waybill.JobInfo, error) {
	t.Helper()
	kind := waybill.Define[number]("k", waybill.KindOptions{Retention: time.Hour})
	w := newWorker(t, c, waybill.WorkerOptions{Grace: grace})
	running := make(chan struct{})
	kind.Handle(w, func(ctx context.Context, job *waybill.Job[number]) error {
		close(running)
		return h(ctx, job)
	})
	stop := start(t, w)
	e, err := kind.Enqueue(t.Context(), c, number{1})
	if err != nil {
		t.Fatal(err)
	}
	<-running
	err = stop()
	info, getErr := c.Queue("").Get(t.Context(), e.ID)
	if getErr != nil {
		t.Fatal(getErr)
	}
	return info, err
}

// G4: Redis refuses writes at the moment of the ack, for less than the lease.
func TestWorker_RedisBlinksAtTheAck(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	rdb := srv.Client()
	c := newClient(t, rdb, "")
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	w := newWorker(t, c, waybill.WorkerOptions{Lease: 30 * time.Second})
	var runs atomic.Int64
	kind.Handle(w, func(ctx context.Context, _ *waybill.Job[number]) error {
		runs.Add(1)
		return rdb.ConfigSet(ctx, "min-replicas-to-write", "1").Err()
	})
	start(t, w)
	_, _ = kind.Enqueue(t.Context(), c, number{1})
	until(t, "the ack is refused a few times", func() bool {
		info := rdb.Info(t.Context(), "errorstats").Val()
		return strings.Contains(info, "errorstat_NOREPLICAS:count=") && !strings.Contains(info, "errorstat_NOREPLICAS:count=1\r")
	})
	rdb.ConfigSet(t.Context(), "min-replicas-to-write", "0")
	until(t, "the success is recorded", func() bool { return stats(t, c, "").Completed == 1 })
	if s := stats(t, c, ""); runs.Load() != 1 || s.Deliveries != 1 {
		t.Errorf("runs %d, deliveries %d", runs.Load(), s.Deliveries)
	}
}

func TestWorker_OutlivesRedis(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, redistest.AOF(), redistest.Config("appendfsync", "always"))
	c := newClient(t, srv.Client(), "")
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	w := newWorker(t, c, waybill.WorkerOptions{Lease: 2 * time.Second})
	var done atomic.Int64
	kind.Handle(w, func(context.Context, *waybill.Job[number]) error {
		done.Add(1)
		return nil
	})
	start(t, w)
	for round := range int64(3) {
		if _, err := kind.EnqueueMany(t.Context(), c, make([]number, 50)); err != nil {
			t.Fatal(err)
		}
		srv.Restart()
		until(t, "the jobs of this round are completed", func() bool {
			s, err := c.Queue("").Stats(t.Context())
			return err == nil && s.Completed == 50*(round+1)
		})
	}
	if s := stats(t, c, ""); s.Accepted != 150 || s.Completed != 150 || s.Live() != 0 {
		t.Errorf("%+v", s)
	}
}

func TestWorker_WakesWhoKnowsTheKind(t *testing.T) {
	t.Parallel()
	c := shared(t)
	for i := range 4 { // the bell wakes one of them, perhaps none that knows the kind
		w := newWorker(t, c, waybill.WorkerOptions{PollInterval: time.Hour})
		waybill.Define[number](fmt.Sprintf("k%d", i), waybill.KindOptions{}).Handle(w, func(context.Context, *waybill.Job[number]) error { return nil })
		start(t, w)
	}
	for i := range 40 {
		e, err := waybill.Define[number](fmt.Sprintf("k%d", i%4), waybill.KindOptions{}).Enqueue(t.Context(), c, number{i}, waybill.Retention(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		await(t, c, "default", e.ID, waybill.StateCompleted)
	}
}

func TestWorker_WakesOnResume(t *testing.T) {
	t.Parallel()
	c := shared(t)
	kind, ran := waybill.Define[number]("k", waybill.KindOptions{}), make(chan struct{})
	w := newWorker(t, c, waybill.WorkerOptions{PollInterval: time.Hour})
	kind.Handle(w, func(context.Context, *waybill.Job[number]) error {
		ran <- struct{}{}
		return nil
	})
	start(t, w)
	for round := range 5 {
		if err := c.Queue("").Pause(t.Context(), "me"); err != nil {
			t.Fatal(err)
		}
		if _, err := kind.Enqueue(t.Context(), c, number{1}); err != nil {
			t.Fatal(err)
		}
		until(t, "the job waits in the pause", func() bool { return stats(t, c, "").Ready == 1 })
		if err := c.Queue("").Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ran:
		case <-time.After(20 * time.Second):
			t.Fatalf("round %d: nobody was woken", round)
		}
	}
}

func TestWorker_Unknown(t *testing.T) {
	t.Parallel()
	c := shared(t)
	known := waybill.Define[number]("known", waybill.KindOptions{})
	unknown := waybill.Define[number]("unknown", waybill.KindOptions{})
	w := newWorker(t, c, waybill.WorkerOptions{})
	known.Handle(w, func(context.Context, *waybill.Job[number]) error { return nil })
	stop := start(t, w)
	e, _ := unknown.Enqueue(t.Context(), c, number{1}, waybill.Retention(time.Hour))
	_, _ = known.Enqueue(t.Context(), c, number{1})
	await(t, c, "default", e.ID, waybill.StateParked)
	until(t, "the known job is done", func() bool { return stats(t, c, "").Completed == 1 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	other := newWorker(t, c, waybill.WorkerOptions{})
	other.HandleFunc(waybill.AnyKind, waybill.KindOptions{}, func(context.Context, *waybill.Attempt) ([]byte, error) { return nil, nil })
	start(t, other)
	await(t, c, "default", e.ID, waybill.StateCompleted)
}
