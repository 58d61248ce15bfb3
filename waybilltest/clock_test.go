package waybilltest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/waybilltest"
)

func TestEnv_Advance(t *testing.T) {
	t.Parallel()
	t.Run("makes due what is due within the time", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			var order []int
			welcome.Handle(env.Worker, func(_ context.Context, job *waybill.Job[user]) error {
				order = append(order, job.Args.ID)
				return nil
			})
			enqueue(t, env, welcome, 3, waybill.After(3*time.Hour))
			enqueue(t, env, welcome, 2, waybill.At(time.Now().Add(2*time.Hour)))
			enqueue(t, env, welcome, 1, waybill.After(time.Hour))
			for _, step := range []struct {
				by   time.Duration
				want int
			}{{0, 0}, {59 * time.Minute, 0}, {time.Minute, 1}, {59 * time.Minute, 0}, {3 * time.Hour, 2}} {
				env.Advance(step.by)
				if n := len(env.WorkAll()); n != step.want {
					t.Errorf("%d ran after %s more, want %d", n, step.by, step.want)
				}
			}
			if len(order) != 3 || order[0] != 1 || order[1] != 2 || order[2] != 3 {
				t.Errorf("order %v, want that of the times", order)
			}
		})
	})
	t.Run("a job enqueued after it waits for its whole delay", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			welcome.Handle(env.Worker, func(context.Context, *waybill.Job[user]) error { return nil })
			env.Advance(10 * time.Hour)
			enqueue(t, env, welcome, 1, waybill.After(time.Hour))
			env.Advance(59 * time.Minute)
			want(t, told(env.WorkAll()))
			env.Advance(time.Minute)
			want(t, told(env.WorkAll()), "welcome 1 completed")
		})
	})
	t.Run("jobs become due in the order of their times, with what was advanced before", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			var order []int
			welcome.Handle(env.Worker, func(_ context.Context, job *waybill.Job[user]) error {
				order = append(order, job.Args.ID)
				return nil
			})
			enqueue(t, env, welcome, 1, waybill.After(2*time.Hour))
			env.Advance(90 * time.Minute)
			enqueue(t, env, welcome, 2, waybill.After(time.Hour)) // half an hour after the first, sooner by Redis's clock
			env.Advance(time.Hour)
			env.WorkAll()
			if len(order) != 2 || order[0] != 1 {
				t.Errorf("order %v", order)
			}
		})
	})
	t.Run("a job that fails after it waits for its whole delay", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			remind.Handle(env.Worker, func(_ context.Context, job *waybill.Job[user]) error {
				switch job.Number {
				case 1:
					return errors.New("boom") // retried an hour later
				case 2:
					return waybill.Snooze(30 * time.Minute)
				}
				return nil
			})
			enqueue(t, env, remind, 1, waybill.After(time.Hour))
			env.Advance(time.Hour)
			want(t, told(env.WorkAll()), "remind 1 retry")
			env.Advance(59 * time.Minute)
			want(t, told(env.WorkAll()))
			env.Advance(time.Minute)
			want(t, told(env.WorkAll()), "remind 2 snoozed")
			env.Advance(29 * time.Minute)
			want(t, told(env.WorkAll()))
			env.Advance(time.Minute)
			want(t, told(env.WorkAll()), "remind 3 completed")
		})
	})
	t.Run("it does not go back", func(t *testing.T) {
		t.Parallel()
		fails(t, func(t testing.TB) { waybilltest.New(t).Advance(-1) }, "does not go back")
	})
}
