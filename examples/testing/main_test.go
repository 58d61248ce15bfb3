package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/waybilltest"
)

// refuse is a mail server that sends nothing.
func refuse(why error) func(context.Context, string, string, string) error {
	return func(context.Context, string, string, string) error { return why }
}

// A producer is tested by what it enqueued.
func TestSignUp(t *testing.T) {
	t.Parallel()
	env := waybilltest.New(t)
	s := &service{env.Client, nil}
	for range 2 { // the user pressed twice
		if err := s.signUp(t.Context(), "ann@example.com"); err != nil {
			t.Fatal(err)
		}
	}
	if got := waybilltest.Enqueued(env, sendWelcome); len(got) != 1 || got[0].Email != "ann@example.com" {
		t.Errorf("enqueued %v", got)
	}
}

// Handlers that lead to one another are tested by running them, and time is stepped.
func TestWelcome_Whole(t *testing.T) {
	t.Parallel()
	env := waybilltest.New(t)
	var sent []string
	s := &service{env.Client, func(_ context.Context, _, to, subject string) error {
		sent = append(sent, to+": "+subject)
		return nil
	}}
	s.handle(env.Worker)
	if err := s.signUp(t.Context(), "ann@example.com"); err != nil {
		t.Fatal(err)
	}
	env.WorkAll()
	waybilltest.RequireEnqueued(t, env, sendTips)
	env.Advance(23 * time.Hour)
	if ran := env.WorkAll(); len(ran) != 0 {
		t.Errorf("ran %v before a day was over", ran)
	}
	env.Advance(time.Hour)
	env.WorkAll()
	if want := []string{"ann@example.com: Welcome", "ann@example.com: Three tips"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}

// What a handler's error makes of the job is seen in its state.
func TestWelcome_BadAddress(t *testing.T) {
	t.Parallel()
	env := waybilltest.New(t)
	s := &service{env.Client, refuse(errBadAddress)}
	s.handle(env.Worker)
	if err := s.signUp(t.Context(), "nobody"); err != nil {
		t.Fatal(err)
	}
	env.WorkAll()
	waybilltest.RequireState(t, env, sendWelcome, "welcome/nobody", waybill.StateDead)
	waybilltest.RequireNotEnqueued(t, env, sendTips)
}

// A publisher is tested by what it published, without any subscription.
func TestCloseAccount(t *testing.T) {
	t.Parallel()
	env := waybilltest.New(t)
	s := &service{env.Client, nil}
	if err := s.closeAccount(t.Context(), "ann@example.com"); err != nil {
		t.Fatal(err)
	}
	if got := waybilltest.RequirePublished(t, env, closed); got.Email != "ann@example.com" {
		t.Errorf("published %v", got)
	}
}

// Subscriptions are worked off like queues.
func TestGoodbye(t *testing.T) {
	t.Parallel()
	env := waybilltest.New(t)
	s := &service{env.Client, refuse(nil)}
	s.handle(env.Worker)
	if err := s.closeAccount(t.Context(), "ann@example.com"); err != nil {
		t.Fatal(err)
	}
	ran := env.WorkAll()
	if len(ran) != 1 || ran[0].Queue != "accounts.closed/mail" || ran[0].Outcome != waybill.AttemptCompleted {
		t.Errorf("ran %v", ran)
	}
}

// A handler that needs no queue is called like any function: a job can be made by hand.
func TestTips_Alone(t *testing.T) {
	t.Parallel()
	down := errors.New("mail server is down")
	s := &service{nil, refuse(down)}
	job := &waybill.Job[account]{Attempt: &waybill.Attempt{ID: "x", Kind: "tips.send"}, Args: account{"ann@example.com"}}
	if err := s.tips(t.Context(), job); !errors.Is(err, down) {
		t.Errorf("error %v", err)
	}
}
