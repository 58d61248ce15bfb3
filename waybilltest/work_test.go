package waybilltest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/waybilltest"
)

type user struct{ ID int }

var (
	welcome = waybill.Define[user]("welcome", waybill.KindOptions{Queue: "mail", Retry: waybill.Fixed(time.Hour)})
	remind  = waybill.Define[user]("remind", waybill.KindOptions{Queue: "later", Retry: waybill.Fixed(time.Hour)})
)

// each runs a test on a private server and on the stand-in in memory.
func each(t *testing.T, body func(t *testing.T, env *waybilltest.Env)) {
	t.Helper()
	for name, o := range map[string]waybilltest.Options{"server": {}, "in memory": {InMemory: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body(t, waybilltest.NewWith(t, o))
		})
	}
}

func enqueue(t testing.TB, env *waybilltest.Env, k *waybill.Kind[user], id int, o ...waybill.EnqueueOption) string {
	t.Helper()
	e, err := k.Enqueue(t.Context(), env.Client, user{id}, o...)
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}

// told is what WorkAll gave, in words.
func told(ran []waybilltest.Ran) []string {
	var out []string
	for _, r := range ran {
		out = append(out, fmt.Sprintf("%s %d %s", r.Kind, r.Attempt, r.Outcome))
	}
	return out
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEnv_WorkAll(t *testing.T) {
	t.Parallel()
	t.Run("runs what is ready and what that enqueues", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			welcome.Handle(env.Worker, func(ctx context.Context, job *waybill.Job[user]) error {
				_, err := remind.Enqueue(ctx, env.Client, job.Args, waybill.CausedBy(job.Attempt, "remind"))
				return err
			})
			remind.Handle(env.Worker, func(context.Context, *waybill.Job[user]) error { return nil })
			enqueue(t, env, welcome, 7)
			want(t, told(env.WorkAll()), "welcome 1 completed", "remind 1 completed")
			want(t, told(env.WorkAll()))
			enqueue(t, env, welcome, 8)
			want(t, told(env.WorkAll()), "welcome 1 completed", "remind 1 completed")
		})
	})
	t.Run("runs jobs in their order, one at a time", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			var running atomic.Int32
			var order []int
			welcome.Handle(env.Worker, func(_ context.Context, job *waybill.Job[user]) error {
				if running.Add(1) > 1 {
					t.Error("two at a time")
				}
				order = append(order, job.Args.ID)
				running.Add(-1)
				return nil
			})
			for i := range 30 {
				enqueue(t, env, welcome, i)
			}
			env.WorkAll()
			if len(order) != 30 || !slices.IsSorted(order) {
				t.Errorf("order %v", order)
			}
		})
	})
	t.Run("tells how attempts ended", func(t *testing.T) {
		t.Parallel()
		boom := errors.New("boom")
		each(t, func(t *testing.T, env *waybilltest.Env) {
			ends := []error{boom, waybill.Dead(boom), waybill.Snooze(time.Hour), waybill.Cancel("no"), nil}
			welcome.Handle(env.Worker, func(_ context.Context, job *waybill.Job[user]) error { return ends[job.Args.ID] })
			ids := make([]string, len(ends))
			for i := range ends {
				ids[i] = enqueue(t, env, welcome, i)
			}
			ran := env.WorkAll()
			want(t, told(ran), "welcome 1 retry", "welcome 1 dead", "welcome 1 snoozed", "welcome 1 cancelled", "welcome 1 completed")
			if !errors.Is(ran[0].Err, boom) || ran[0].ID != ids[0] || ran[0].Queue != "mail" || ran[4].Err != nil {
				t.Errorf("%+v", ran)
			}
			states := []waybill.State{
				waybill.StateRetry, waybill.StateDead, waybill.StateScheduled, waybill.StateCancelled, waybill.StateCompleted,
			}
			for i, s := range states {
				waybilltest.RequireState(t, env, welcome, ids[i], s)
			}
		})
	})
	t.Run("nothing runs between two calls", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			welcome.Handle(env.Worker, func(context.Context, *waybill.Job[user]) error { return nil })
			enqueue(t, env, welcome, 1)
			want(t, told(env.WorkAll()), "welcome 1 completed")
			enqueue(t, env, welcome, 2)
			s, err := env.Client.Queue("mail").Stats(t.Context())
			if err != nil || s.PausedBy == "" || s.Ready != 1 {
				t.Errorf("%d ready, paused by %q, %v", s.Ready, s.PausedBy, err)
			}
			want(t, told(env.WorkAll()), "welcome 1 completed")
		})
	})
	t.Run("a retry without delay runs at once", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			flaky := waybill.Define[user]("flaky", waybill.KindOptions{Retry: waybill.Fixed(0)})
			flaky.Handle(env.Worker, func(_ context.Context, job *waybill.Job[user]) error {
				if job.Attempt.Number < 3 {
					return errors.New("boom")
				}
				return nil
			})
			enqueue(t, env, flaky, 1)
			want(t, told(env.WorkAll()), "flaky 1 retry", "flaky 2 retry", "flaky 3 completed")
		})
	})
	t.Run("waits for what the next claim makes ready", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			enqueue(t, env, welcome, 1, waybill.After(time.Hour))
			if n := env.Soon(t.Context(), "mail"); n != 0 {
				t.Errorf("%d soon, an hour before", n)
			}
			enqueue(t, env, welcome, 2, waybill.After(time.Millisecond))
			for env.Soon(t.Context(), "mail") != 1 { // as soon as Redis's clock is there; the test's deadline ends it
				runtime.Gosched()
			}
		})
	})
	t.Run("leaves a queue alone that the test paused", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			welcome.Handle(env.Worker, func(context.Context, *waybill.Job[user]) error { return nil })
			if err := env.Client.Queue("mail").Pause(t.Context(), "ann"); err != nil {
				t.Fatal(err)
			}
			enqueue(t, env, welcome, 1)
			want(t, told(env.WorkAll()))
			want(t, told(env.WorkAll())) // the first had started the worker
			if err := env.Client.Queue("mail").Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			want(t, told(env.WorkAll()), "welcome 1 completed")
		})
	})
	t.Run("a job without a handler stays, and that is logged", func(t *testing.T) {
		t.Parallel()
		r := &recorder{}
		said := r.run(func(t testing.TB) {
			env := waybilltest.New(t)
			welcome.Handle(env.Worker, func(context.Context, *waybill.Job[user]) error { return nil })
			id := enqueue(t, env, remind.On("mail"), 1)
			if ran := env.WorkAll(); len(ran) > 0 {
				t.Errorf("ran %v", ran)
			}
			waybilltest.RequireState(t, env, remind, id, waybill.StateParked)
		})
		if said != "" || !slices.Contains(r.logged, "waybilltest: queue mail: 1 jobs are of kinds without a handler") {
			t.Errorf("failed with %q, logged %q", said, r.logged)
		}
	})
	t.Run("a kind with a bound of its own is worked off", func(t *testing.T) {
		t.Parallel()
		env := waybilltest.NewWith(t, waybilltest.Options{Worker: waybill.WorkerOptions{Concurrency: 8}})
		var running, most atomic.Int32
		narrow := waybill.Define[user]("narrow", waybill.KindOptions{Concurrency: 1})
		narrow.Handle(env.Worker, func(context.Context, *waybill.Job[user]) error {
			most.Store(max(most.Load(), running.Add(1)))
			running.Add(-1)
			return nil
		})
		for i := range 40 {
			enqueue(t, env, narrow, i)
		}
		if n := len(env.WorkAll()); n != 40 || most.Load() != 1 {
			t.Errorf("%d ran, %d at a time", n, most.Load())
		}
	})
}

func TestEnv_WorkAllFails(t *testing.T) {
	t.Parallel()
	t.Run("where a handler does not return, and names it", func(t *testing.T) {
		t.Parallel()
		release := make(chan struct{})
		r := &recorder{deadline: time.Now().Add(2 * time.Second)}
		failsAs(t, r, func(t testing.TB) {
			env := waybilltest.New(t)
			t.Cleanup(func() { close(release) })
			welcome.Handle(env.Worker, func(context.Context, *waybill.Job[user]) error {
				<-release
				return nil
			})
			enqueue(t, env, welcome, 1, waybill.ID("hangs"))
			env.WorkAll()
		}, "attempt 1 of job hangs, kind welcome, queue mail: runs for", "queue mail: 0 ready, 1 active")
	})
	t.Run("where no kind is handled", func(t *testing.T) {
		t.Parallel()
		fails(t, func(t testing.TB) { waybilltest.New(t).WorkAll() }, "the worker has ended", "register at least one kind")
	})
	t.Run("where Redis is gone", func(t *testing.T) {
		t.Parallel()
		fails(t, func(t testing.TB) {
			env := waybilltest.New(t)
			welcome.Handle(env.Worker, func(context.Context, *waybill.Job[user]) error { return nil })
			env.WorkAll()
			_ = env.Redis.Close()
			env.WorkAll()
		}, "unavailable")
	})
}
