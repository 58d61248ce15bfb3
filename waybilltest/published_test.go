package waybilltest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/topic"
	"github.com/waybillhq/waybill/waybilltest"
)

var signups = topic.Define[user]("signups")

func publish(t testing.TB, env *waybilltest.Env, id int, o ...waybill.EnqueueOption) string {
	t.Helper()
	e, err := signups.Publish(t.Context(), env.Client, user{id}, o...)
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}

func done(context.Context, *waybill.Job[user]) error { return nil }

// toldIn is what WorkAll gave in one queue.
func toldIn(queue string, ran []waybilltest.Ran) []string {
	return told(slices.DeleteFunc(slices.Clone(ran), func(r waybilltest.Ran) bool { return r.Queue != queue }))
}

func TestRequirePublished(t *testing.T) {
	t.Parallel()
	is := func(id int) func(user) bool { return func(u user) bool { return u.ID == id } }
	t.Run("gives the event, though nobody subscribes", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			publish(t, env, 7)
			publish(t, env, 8, waybill.ID("eight"))
			publish(t, env, 8, waybill.ID("eight"))
			if got := waybilltest.RequirePublished(t, env, signups, is(8)); got.ID != 8 {
				t.Errorf("%+v", got)
			}
			if got := waybilltest.Published(env, signups); len(got) != 2 || got[0].ID != 7 {
				t.Errorf("%+v", got)
			}
			waybilltest.RequireNotPublished(t, env, signups, is(9))
		})
	})
	t.Run("an event is no job of the kind of its name", func(t *testing.T) {
		t.Parallel()
		env := waybilltest.New(t)
		publish(t, env, 7)
		waybilltest.RequireNotEnqueued(t, env, signups.Kind())
		enqueue(t, env, welcome, 7)
		waybilltest.RequireNotPublished(t, env, welcome)
	})
	t.Run("fails where there is none, and says what there is instead", func(t *testing.T) {
		t.Parallel()
		fails(t, func(t testing.TB) {
			env := waybilltest.New(t)
			publish(t, env, 7, waybill.ID("seven"))
			waybilltest.RequirePublished(t, env, signups, is(8))
		}, "no event of topic signups that matches was published", `event of topic signups, ID seven: {"ID":7}`)
	})
	t.Run("the other way round it fails where there is one", func(t *testing.T) {
		t.Parallel()
		fails(t, func(t testing.TB) {
			env := waybilltest.New(t)
			publish(t, env, 7)
			waybilltest.RequireNotPublished(t, env, signups)
		}, "1 events of topic signups were published", "{ID:7}")
	})
	t.Run("a capacity of the test's own stands", func(t *testing.T) {
		t.Parallel()
		env := waybilltest.New(t)
		if err := signups.Stream(env.Client).Set(t.Context(), topic.Settings{Capacity: new(int64(1))}); err != nil {
			t.Fatal(err)
		}
		publish(t, env, 1)
		if _, err := signups.Publish(t.Context(), env.Client, user{2}); !errors.Is(err, waybill.ErrFull) {
			t.Errorf("the second: %v", err)
		}
		if got := waybilltest.Published(env, signups); len(got) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestEnv_WorkAllSubscriptions(t *testing.T) {
	t.Parallel()
	t.Run("each subscription gets what was published before and between", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			signups.Subscribe(env.Worker, "mail", topic.SubscribeOptions{}, done)
			signups.Subscribe(env.Worker, "count", topic.SubscribeOptions{}, done)
			for i := range 30 {
				publish(t, env, i)
			}
			ran := env.WorkAll()
			if mail, all := toldIn("signups/mail", ran), len(ran); len(mail) != 30 || all != 60 {
				t.Errorf("%d ran, %d of them for mail", all, len(mail))
			}
			publish(t, env, 31)
			want(t, toldIn("signups/count", env.WorkAll()), "signups 1 completed")
			want(t, told(env.WorkAll()))
		})
	})
	t.Run("an event that a handler publishes is worked off too", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			welcome.Handle(env.Worker, func(ctx context.Context, job *waybill.Job[user]) error {
				_, err := signups.Publish(ctx, env.Client, job.Args, waybill.ID(job.ID))
				return err
			})
			signups.Subscribe(env.Worker, "mail", topic.SubscribeOptions{}, done)
			enqueue(t, env, welcome, 7)
			want(t, told(env.WorkAll()), "welcome 1 completed", "signups 1 completed")
		})
	})
	t.Run("retries and dead letters are each subscription's own, and Advance passes the time", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, env *waybilltest.Env) {
			boom := errors.New("boom")
			o := topic.SubscribeOptions{Retry: waybill.Fixed(time.Hour), MaxFailures: 2}
			signups.Subscribe(env.Worker, "mail", o, func(context.Context, *waybill.Job[user]) error { return boom })
			signups.Subscribe(env.Worker, "count", o, done)
			id := publish(t, env, 7)
			ran := env.WorkAll()
			want(t, toldIn("signups/mail", ran), "signups 1 retry")
			want(t, toldIn("signups/count", ran), "signups 1 completed")
			env.Advance(time.Hour)
			want(t, told(env.WorkAll()), "signups 2 dead")
			info, err := env.Client.Queue("signups/mail").Get(t.Context(), id)
			if err != nil || info.State != waybill.StateDead {
				t.Errorf("state %s, %v", info.State, err)
			}
		})
	})
	t.Run("what a paused or a full subscription does not take stays", func(t *testing.T) {
		t.Parallel()
		env := waybilltest.New(t)
		signups.Subscribe(env.Worker, "mail", topic.SubscribeOptions{}, func(context.Context, *waybill.Job[user]) error {
			return waybill.Snooze(time.Hour)
		})
		mail := env.Client.Queue("signups/mail")
		if err := errors.Join(mail.Pause(t.Context(), "ann"), mail.Set(t.Context(), waybill.QueueSettings{Capacity: new(int64(1))})); err != nil {
			t.Fatal(err)
		}
		publish(t, env, 1)
		publish(t, env, 2)
		want(t, told(env.WorkAll()))
		if err := mail.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, told(env.WorkAll()), "signups 1 snoozed")
	})
}
