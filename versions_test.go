package waybill_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

// Shapes of one kind's arguments.
type (
	oldest struct{ Name string }
	older  struct{ First, Last string }
	newest struct{ Names []string }
)

func define() *waybill.Kind[newest] {
	k := waybill.Define[newest]("greet", waybill.KindOptions{Version: 2})
	waybill.AcceptOld(k, 0, func(o oldest) (newest, error) {
		if o.Name == "" {
			return newest{}, errors.New("no name")
		}
		return newest{[]string{o.Name}}, nil
	})
	waybill.AcceptOld(k, 1, func(o older) (newest, error) { return newest{[]string{o.First, o.Last}}, nil })
	return k
}

func TestAcceptOld(t *testing.T) {
	t.Parallel()
	c := shared(t)
	k := define()
	w := newWorker(t, c, waybill.WorkerOptions{Queues: []waybill.QueueOptions{{Name: "copy"}}})
	k.On("copy").Handle(w, func(_ context.Context, job *waybill.Job[newest]) error {
		return waybill.Cancel(strings.Join(job.Args.Names, " "))
	})
	strict := waybill.Define[number]("strict", waybill.KindOptions{Version: 5, Queue: "copy"})
	strict.Handle(w, func(context.Context, *waybill.Job[number]) error { return nil })
	start(t, w)
	send := func(t *testing.T, version int, payload string) string {
		t.Helper()
		e, err := c.Enqueue(t.Context(), waybill.Request{Queue: "copy", Kind: "greet", Version: version, Payload: []byte(payload)})
		if err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	for name, in := range map[string]struct {
		version       int
		payload, want string
	}{
		"the kind's own version is decoded as it is":            {2, `{"Names":["a","b"]}`, "a b"},
		"an older one goes up":                                  {1, `{"First":"a","Last":"b"}`, "a b"},
		"so does one from before the kind had versions":         {0, `{"Name":"a"}`, "a"},
		"an old payload that can't be read by today's is no in": {1, `{"Names":"x","First":"a","Last":"b"}`, "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			if info := await(t, c, "copy", send(t, in.version, in.payload), waybill.StateCancelled); info.Reason != in.want {
				t.Errorf("arguments %q", info.Reason)
			}
		})
	}
	for name, in := range map[string]struct {
		version       int
		payload, want string
	}{
		"what can't go up is dead, with its bytes": {0, `{}`, "no name"},
		"and what can't be decoded":                {1, `{`, "decode payload of kind greet"},
	} {
		t.Run(name, func(t *testing.T) {
			info := await(t, c, "copy", send(t, in.version, in.payload), waybill.StateDead)
			if !strings.Contains(info.Errors[0].Message, in.want) || string(info.Payload) != in.payload {
				t.Errorf("%+v, payload %q", info.Errors, info.Payload)
			}
		})
	}
	t.Run("so is an older version that nobody accepts", func(t *testing.T) {
		e, err := c.Enqueue(t.Context(), waybill.Request{Queue: "copy", Kind: "strict", Version: 3, Payload: []byte(`{"N":1}`)})
		if err != nil {
			t.Fatal(err)
		}
		info := await(t, c, "copy", e.ID, waybill.StateDead)
		if !strings.Contains(info.Errors[0].Message, "its version is 3: known are [5]") || string(info.Payload) != `{"N":1}` {
			t.Errorf("%+v, payload %q", info.Errors, info.Payload)
		}
	})
	t.Run("a newer version is put off for a minute, and counts no failure", func(t *testing.T) {
		info := await(t, c, "copy", send(t, 7, `{"x":1}`), waybill.StateScheduled)
		if info.Failures != 0 || info.Snoozes != 1 || info.DueAt.Sub(info.At) < 50*time.Second {
			t.Errorf("%d failures, %d snoozes, due in %s", info.Failures, info.Snoozes, info.DueAt.Sub(info.At))
		}
	})
	t.Run("what is sent has the kind's version", func(t *testing.T) {
		if r := k.Request(newest{}); r.Version != 2 {
			t.Errorf("version %d", r.Version)
		}
	})
}

func TestAcceptOld_Mistakes(t *testing.T) {
	same := func(n newest) (newest, error) { return n, nil }
	for name, mistake := range map[string]func(){
		"the kind's own version": func() { waybill.AcceptOld(define(), 2, same) },
		"a newer version":        func() { waybill.AcceptOld(define(), 3, same) },
		"a negative version":     func() { waybill.AcceptOld(define(), -1, same) },
		"a version given twice":  func() { waybill.AcceptOld(define().On("copy"), 1, same) },
		"a kind made by hand":    func() { waybill.AcceptOld(foreign{}, 0, same) },
	} {
		t.Run(name+" panics", func(t *testing.T) {
			defer func() {
				if p := recover(); p == nil {
					t.Error("it was accepted")
				}
			}()
			mistake()
		})
	}
}

// foreign is a Typed of somebody else.
type foreign struct{}

func (foreign) Name() string { return "foreign" }

func (foreign) Request(newest, ...waybill.EnqueueOption) waybill.Request { return waybill.Request{} }

func TestAttempt_MadeByHand(t *testing.T) {
	a := &waybill.Attempt{ID: "x", Kind: "k"}
	if err := errors.Join(a.Check(t.Context()), a.Progress(t.Context(), 100, "all of it")); err != nil {
		t.Errorf("a handler's test needs no worker: %v", err)
	}
	wantInvalid(t, a.Progress(t.Context(), 101, ""), "percent: is 101")
	select {
	case <-a.Stopping():
		t.Error("it is told to stop")
	case <-time.After(time.Millisecond):
	}
}
