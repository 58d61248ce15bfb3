package waybill_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// attemptOf runs the next job of a queue and gives the attempt, with what was known of the job meanwhile.
func attemptOf(t *testing.T, c *waybill.Client, queue string) (waybill.Attempt, waybill.JobInfo) {
	t.Helper()
	w := newWorker(t, c, waybill.WorkerOptions{Queues: []waybill.QueueOptions{{Name: queue}}})
	type seen struct {
		a waybill.Attempt
		j waybill.JobInfo
	}
	came := make(chan seen, 1)
	w.HandleFunc(waybill.AnyKind, waybill.KindOptions{}, func(ctx context.Context, a *waybill.Attempt) ([]byte, error) {
		j, err := c.Queue(a.Queue).Get(ctx, a.ID)
		came <- seen{*a, j}
		return nil, err
	})
	stop := start(t, w)
	s := <-came
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	return s.a, s.j
}

func TestAttempt_Times(t *testing.T) {
	t.Parallel()
	c := shared(t)
	due := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	if _, err := c.Enqueue(t.Context(), waybill.Request{Queue: "mail", Kind: "k", ID: "x", At: due}); err != nil {
		t.Fatal(err)
	}
	a, j := attemptOf(t, c, "mail")
	if !a.BornAt.Equal(a.EnqueuedAt) || !a.DueAt.Equal(due) || a.Scope != "mail" { // what was due before is no older than its enqueue
		t.Errorf("born at %s in %q, enqueued at %s, due at %s", a.BornAt, a.Scope, a.EnqueuedAt, a.DueAt)
	}
	if a.ClaimedAt.IsZero() || !a.ClaimedAt.Equal(j.StartedAt) {
		t.Errorf("claimed at %s, started at %s", a.ClaimedAt, j.StartedAt)
	}
}

func TestScope_Move(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	here := newShelf(t)
	c := newClient(t, here.rdb, here.prefix)
	due := time.Now().Add(-24 * time.Hour).Truncate(time.Millisecond)
	_, err := c.Queue("mail").Restore(ctx, []waybill.JobInfo{{
		Queue: "mail", Kind: "k", ID: "a", Payload: []byte("1"), BornAt: due, State: waybill.StateReady, Known: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	shelves := map[string]*shelf{"mail": here, "spare": here.beside("spare"), "third": here.beside("third"), "last": here.beside("last")}
	at := here
	for _, to := range []string{"spare", "third", "mail", "last"} {
		at.kill(1, "no host")
		if got, err := at.q.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{To: to}); err != nil || got.Changed != 1 {
			t.Fatalf("to %s: %+v, %v", to, got, err)
		}
		at = shelves[to]
		j, err := at.q.Get(ctx, "a")
		if err != nil || j.Queue != to {
			t.Fatalf("%+v, %v", j, err)
		}
		if !j.BornAt.Equal(due) || j.Scope != "mail" {
			t.Errorf("in %s it is born at %s in %q, want at %s in mail", to, j.BornAt, j.Scope, due)
		}
	}
	if a, _ := attemptOf(t, c, "last"); !a.BornAt.Equal(due) || a.Scope != "mail" || a.Queue != "last" {
		t.Errorf("the attempt in %s has it born at %s in %q", a.Queue, a.BornAt, a.Scope)
	}
}

// A job that was moved there before, and is known as deleted since it was moved back, is enqueued by another way.
func TestScope_MoveThereAgain(t *testing.T) {
	t.Parallel()
	here := newShelf(t)
	there := here.beside("spare")
	here.add("k", "a")
	born := here.born("a")
	for _, step := range []struct {
		from *shelf
		to   string
	}{{here, "spare"}, {there, "mail"}, {here, "spare"}} {
		step.from.kill(1, "no host")
		if _, err := step.from.q.RequeueAll(t.Context(), waybill.Filter{}, waybill.BulkOptions{To: step.to}); err != nil {
			t.Fatal(err)
		}
	}
	if j, err := there.q.Get(t.Context(), "a"); err != nil || !j.BornAt.Equal(born) || j.Scope != "mail" {
		t.Errorf("born at %s in %q, want at %s in mail: %v", j.BornAt, j.Scope, born, err)
	}
}

func (s *shelf) born(id string) time.Time {
	s.t.Helper()
	j, err := s.q.Get(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return j.BornAt
}

func TestScope_Restore(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		queue, scope, into, want string
	}{
		"in its own queue it is that queue":                 {"mail", "mail", "mail", "mail"},
		"in another queue it is that where it was":          {"mail", "mail", "copy", "mail"},
		"of an export without one it is the queue":          {"mail", "", "copy", "mail"},
		"of a moved job it is that of its first enqueue":    {"spare", "mail", "copy", "mail"},
		"back in the queue of its first enqueue it is that": {"spare", "mail", "mail", "mail"},
		"a path of names is kept":                           {"mail", "orders/billing:1", "copy", "orders/billing:1"},
		"where nothing is known it is the queue it is in":   {"", "", "copy", "copy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb, prefix := redistest.Shared(t)
			c := newClient(t, rdb, prefix)
			was := plain("a")
			was.Queue, was.Scope = tc.queue, tc.scope
			if _, err := c.Queue(tc.into).Restore(t.Context(), []waybill.JobInfo{was}); err != nil {
				t.Fatal(err)
			}
			if j, err := c.Queue(tc.into).Get(t.Context(), "a"); err != nil || j.Scope != tc.want {
				t.Errorf("scope %q, want %q: %v", j.Scope, tc.want, err)
			}
			if a, _ := attemptOf(t, c, tc.into); a.Scope != tc.want {
				t.Errorf("scope %q of the attempt, want %q", a.Scope, tc.want)
			}
		})
	}
}

func TestScope_JSON(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.add("k", "dead")
	s.end(store.Dead, "no host")
	whole, err := s.q.Get(t.Context(), "dead")
	if err != nil {
		t.Fatal(err)
	}
	if got := asJSON(t, whole)["scope"]; got != "mail" {
		t.Errorf("a job that was never moved has scope %v", got)
	}
	whole.Scope = "first"
	raw, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	var read waybill.JobInfo
	if err := json.Unmarshal(raw, &read); err != nil || read.Scope != "first" {
		t.Errorf("read back as %q, %v", read.Scope, err)
	}
	said, err := s.beside("copy").q.Restore(t.Context(), []waybill.JobInfo{{
		ID: "x", Queue: "mail", Kind: "k", Known: true, State: waybill.StateReady, Scope: strings.Repeat("x", 256),
	}})
	if err == nil || said[0].Outcome != waybill.OutcomeInvalid || !strings.HasPrefix(said[0].Err.Error(), "scope: ") {
		t.Errorf("%+v, %v", said, err)
	}
}
