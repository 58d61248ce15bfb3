package waybilltest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/waybilltest"
)

func TestRequireEnqueued(t *testing.T) {
	t.Parallel()
	is := func(id int) func(user) bool { return func(u user) bool { return u.ID == id } }
	t.Run("gives the arguments, also of jobs worked off", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			welcome.Handle(env.Worker, func(context.Context, *waybill.Job[user]) error { return nil })
			enqueue(t, env, welcome, 7)
			enqueue(t, env, welcome, 8)
			env.WorkAll()
			if got := waybilltest.RequireEnqueued(t, env, welcome); got.ID != 7 {
				t.Errorf("%+v", got)
			}
			if got := waybilltest.RequireEnqueued(t, env, welcome, is(8)); got.ID != 8 {
				t.Errorf("%+v", got)
			}
			waybilltest.RequireNotEnqueued(t, env, welcome, is(9))
			waybilltest.RequireNotEnqueued(t, env, remind)
		})
	})
	t.Run("fails where there is none, and says what was enqueued instead", func(t *testing.T) {
		t.Parallel()
		fails(t, func(t testing.TB) {
			env := waybilltest.New(t)
			enqueue(t, env, welcome, 7, waybill.ID("seven"))
			waybilltest.RequireEnqueued(t, env, remind)
		}, "no job of kind remind was enqueued", `welcome in queue mail, ID seven: {"ID":7}`)
		fails(t, func(t testing.TB) {
			env := waybilltest.New(t)
			enqueue(t, env, welcome, 7)
			waybilltest.RequireEnqueued(t, env, welcome, is(8))
		}, "no job of kind welcome that matches")
		fails(t, func(t testing.TB) {
			waybilltest.RequireEnqueued(t, waybilltest.New(t), welcome)
		}, "enqueued were none")
	})
	t.Run("the other way round it fails where there is one", func(t *testing.T) {
		t.Parallel()
		fails(t, func(t testing.TB) {
			env := waybilltest.New(t)
			enqueue(t, env, welcome, 7)
			waybilltest.RequireNotEnqueued(t, env, welcome, is(7))
		}, "1 jobs of kind welcome that matches were enqueued", "{ID:7}")
	})
	t.Run("a long list is cut", func(t *testing.T) {
		t.Parallel()
		fails(t, func(t testing.TB) {
			env := waybilltest.New(t)
			for i := range 25 {
				enqueue(t, env, welcome, i)
			}
			waybilltest.RequireEnqueued(t, env, remind)
		}, "and 5 more")
	})
	t.Run("only jobs that were taken count, each once", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			enqueue(t, env, welcome, 1, waybill.ID("one"))
			enqueue(t, env, welcome, 1, waybill.ID("one"))
			if _, err := welcome.Enqueue(t.Context(), env.Client, user{2}, waybill.ID("one")); !errors.Is(err, waybill.ErrConflict) {
				t.Fatal(err)
			}
			if _, err := welcome.Enqueue(t.Context(), env.Client, user{3}, waybill.Priority(5000)); !errors.Is(err, waybill.ErrInvalid) {
				t.Fatal(err)
			}
			if got := waybilltest.Enqueued(env, welcome); len(got) != 1 || got[0].ID != 1 {
				t.Errorf("%+v", got)
			}
			if got := env.Requests(); len(got) != 1 || got[0].ID != "one" || got[0].Queue != "mail" {
				t.Errorf("%+v", got)
			}
		})
	})
	t.Run("bulk counts too", func(t *testing.T) {
		t.Parallel()
		env := waybilltest.New(t)
		if _, err := welcome.EnqueueMany(t.Context(), env.Client, []user{{1}, {2}}); err != nil {
			t.Fatal(err)
		}
		if got := waybilltest.Enqueued(env, welcome); len(got) != 2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestRequireState(t *testing.T) {
	t.Parallel()
	t.Run("fails where the state is another, with the last error", func(t *testing.T) {
		t.Parallel()
		fails(t, func(t testing.TB) {
			env := waybilltest.New(t)
			welcome.Handle(env.Worker, func(context.Context, *waybill.Job[user]) error {
				return waybill.Dead(errors.New("no such user"))
			})
			id := enqueue(t, env, welcome, 1)
			env.WorkAll()
			waybilltest.RequireState(t, env, welcome, id, waybill.StateCompleted)
		}, "is dead, not completed: no such user")
	})
	t.Run("fails where there is no such job", func(t *testing.T) {
		t.Parallel()
		fails(t, func(t testing.TB) {
			waybilltest.RequireState(t, waybilltest.New(t), welcome, "x", waybill.StateReady)
		}, "no job x of kind welcome")
	})
}

func TestNew(t *testing.T) {
	t.Parallel()
	t.Run("two share nothing", func(t *testing.T) {
		t.Parallel()
		a, b := waybilltest.New(t), waybilltest.New(t)
		id := enqueue(t, a, welcome, 1)
		if _, err := b.Client.Queue("mail").Get(t.Context(), id); !errors.Is(err, waybill.ErrNotFound) {
			t.Errorf("the other has it: %v", err)
		}
	})
	t.Run("nothing is left, and what it ran on is told", func(t *testing.T) {
		t.Parallel()
		watch := waybilltest.New(t)
		keys := func(pattern string) []string { return watch.Redis.Keys(t.Context(), pattern).Val() }
		prefix := ""
		r := &recorder{}
		if said := r.run(func(t testing.TB) {
			env := waybilltest.New(t)
			welcome.Handle(env.Worker, func(context.Context, *waybill.Job[user]) error { return nil })
			enqueue(t, env, welcome, 1)
			env.WorkAll()
			enqueue(t, env, welcome, 2, waybill.ID("left"))
			if jobs := keys("test-*}:job:left"); len(jobs) == 1 {
				prefix, _, _ = strings.Cut(jobs[0], ":")
			}
		}); said != "" {
			t.Fatal(said)
		}
		if left := keys(prefix + ":*"); prefix == "" || len(left) > 0 {
			t.Errorf("of prefix %q are left %q", prefix, left)
		}
		if len(r.logged) != 1 || !strings.Contains(r.logged[0], "on a private") {
			t.Errorf("logged %q", r.logged)
		}
	})
	t.Run("bad options fail the test", func(t *testing.T) {
		t.Parallel()
		fails(t, func(t testing.TB) {
			waybilltest.NewWith(t, waybilltest.Options{Worker: waybill.WorkerOptions{Lease: 1}})
		}, "lease")
	})
}

// A handler alone needs no Redis: what it is given can be made by hand.
func TestAttempt_MadeByHand(t *testing.T) {
	t.Parallel()
	job := &waybill.Job[user]{Attempt: &waybill.Attempt{ID: "x", Kind: "welcome"}, Args: user{7}}
	if err := job.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := job.Progress(t.Context(), 40, "half-way"); err != nil {
		t.Error(err)
	}
	select {
	case <-job.Stopping():
		t.Error("it is stopping")
	default:
	}
	if key := job.IdempotencyKey("mail"); key != "welcome/x/mail" {
		t.Error(key)
	}
}
