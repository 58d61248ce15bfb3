package fault_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// TestRefusals: Redis answers with an error for a while, of each sort that it has. Nothing is lost, nothing runs twice,
// and work goes on soon after.
func TestRefusals(t *testing.T) {
	for _, c := range []refusal{
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
			within(t, latest, "a worker that listens is refused", r.unblock) // who listens has no hook
			r.refused.codes.Store("UNBLOCKED", true)
			return during(func(int) { r.unblock() })
		}},
		{"MISCONF", []redistest.Option{redistest.Config("save", "3600 1")}, func(t *testing.T, r *rig) func() {
			blocked := filepath.Join(r.server.Dir(), "dump.rdb", "x") // a snapshot can't take the name of a folder
			must(t, os.MkdirAll(blocked, 0o700))
			within(t, latest, "a snapshot fails", func() bool {
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
			soon(t, back, func() time.Duration { return c.play(t) })
		})
	}
}

// refusal is one sort of error.
type refusal struct {
	name   string
	config []redistest.Option
	// refuse begins the fault; what it returns ends it
	refuse func(t *testing.T, r *rig) (end func())
}

// play lets Redis refuse for a while, and gives how long it took until work went on.
func (c refusal) play(t *testing.T) time.Duration {
	t.Helper()
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
	within(t, latest, "the first runs", func() bool { return ran.total() == 1 })
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
	again := within(t, latest, "a job is taken again", func() bool { return took(t, r.beside) })
	taken++
	all := within(t, latest, "and everything runs", func() bool { return ran.total() == taken })
	r.undisturbed(ran, taken)
	if !r.refused.has(c.name) {
		t.Errorf("no call was answered %s", c.name)
	}
	return max(again, all)
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
