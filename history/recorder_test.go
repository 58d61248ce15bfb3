package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/topic"
)

var (
	sums   = waybill.Define[int]("sum", waybill.KindOptions{Queue: "sums", Retry: func(int, error) time.Duration { return time.Millisecond }})
	orders = topic.Define[int]("orders")
)

// recorded is the history of a run.
type recorded struct {
	path string
	r    *history.Recorder
	c    *waybill.Client
}

// record runs 60 jobs, some of which fail, are put off, die or keep their result, and 10 events; then it writes the account.
func record(t *testing.T) recorded {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(t, err)
	t.Cleanup(func() { _ = file.Close() })
	c, err := waybill.NewClient(redistest.Start(t).Client(), waybill.ClientOptions{})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	h := recorded{path, history.New(file, "test"), c}
	c.Use(h.r.Enqueues)
	h.r.Write(history.Event{Op: history.OpRun, Grade: "none", Seed: 7})
	h.work(t)
	must(t, h.account(t))
	return h
}

func (h recorded) account(t *testing.T) error {
	t.Helper()
	before, err := os.Open(h.path)
	must(t, err)
	defer before.Close()
	return h.r.Account(t.Context(), h.c, before)
}

func (h recorded) work(t *testing.T) {
	t.Helper()
	w, err := waybill.NewWorker(h.c, waybill.WorkerOptions{Observe: h.r.Observe})
	must(t, err)
	w.Use(h.r.Attempts)
	sums.Handle(w, func(_ context.Context, job *waybill.Job[int]) error { return trouble(job) })
	got := make(chan int, 10)
	orders.Subscribe(w, "bills", topic.SubscribeOptions{}, func(_ context.Context, job *waybill.Job[int]) error {
		got <- job.Args
		return nil
	})
	_, err = orders.Create(t.Context(), h.c, "bills", topic.Beginning)
	must(t, err)
	h.r.Write(history.Event{Op: history.OpSubscription, Queue: "orders/bills"})
	run, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(run) }()
	h.send(t)
	for range 10 {
		<-got
	}
	stop()
	must(t, <-ended)
}

// trouble is what becomes of a job's first attempt, by its number.
func trouble(job *waybill.Job[int]) error {
	switch {
	case job.Args%5 == 4:
		return waybill.Dead(errors.New("it can't be done"))
	case job.Number > 1:
		return nil
	case job.Args%5 == 2:
		return errors.New("not this time")
	case job.Args%5 == 3:
		return waybill.Snooze(time.Millisecond)
	}
	return nil
}

// send enqueues all, waits until the jobs have ended, and asks again for some.
func (h recorded) send(t *testing.T) {
	t.Helper()
	for i := range 60 {
		id := fmt.Sprintf("job-%d", i)
		options := []waybill.EnqueueOption{waybill.ID(id), waybill.Retention(time.Duration(i%2) * time.Hour)}
		_, err := sums.Enqueue(t.Context(), h.c, i, options...)
		must(t, err)
	}
	for i := range 10 {
		_, err := orders.Publish(t.Context(), h.c, i)
		must(t, err)
	}
	for i := range 60 {
		id := fmt.Sprintf("job-%d", i)
		err := sums.Wait(t.Context(), h.c, id)
		if dead := errors.Is(err, waybill.ErrDead); dead != (i%5 == 4) {
			t.Errorf("job %d: %v", i, err)
		}
		state := "completed"
		if err != nil {
			state = "dead"
		}
		h.r.Write(history.Event{Op: history.OpWait, Queue: "sums", Job: id, Outcome: history.OutcomeOf(err), Code: state})
		_, err = sums.Enqueue(t.Context(), h.c, i, waybill.ID(id))
		must(t, err)
	}
}

func (h recorded) check(t *testing.T) history.Report {
	t.Helper()
	file, err := os.Open(h.path)
	must(t, err)
	defer file.Close()
	r, err := history.Check(file)
	must(t, err)
	return r
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	h := record(t)
	t.Run("a run on a Redis is clean, and counted as it was", func(t *testing.T) {
		r := h.check(t)
		if !r.Clean() {
			text, _ := json.MarshalIndent(r, "", " ")
			t.Fatalf("%s", text)
		}
		// 60 jobs, 10 events and their 10 deliveries; 24 jobs are delivered twice.
		if r.Jobs != 80 || r.Accepted != 70 || r.Deliveries != 94 || r.Redelivered != 24 || r.Lost != 0 || r.Seeds[0] != 7 {
			t.Errorf("counted %+v", r)
		}
		for name, least := range map[string]int64{"I1": 60, "I2": 70, "I4": 70, "I5": 70, "I7": 70, "I9": 38, "I10": 70, "I13": 10, "I14": 60, "I16": 2} {
			if got := r.Invariant(name).Looked; got < least {
				t.Errorf("%d were held against %s, want %d", got, name, least)
			}
		}
	})
	t.Run("a line that is forged is found", func(t *testing.T) {
		h.r.Write(history.Event{Op: history.OpEnqueue, Queue: "sums", Job: "forged", Outcome: history.OK, Code: "accepted"})
		h.r.Write(history.Event{Op: history.OpEnd, Queue: "sums", Job: "job-1", Number: 2, Outcome: history.OK, Code: "dead"})
		must(t, h.r.Err())
		r := h.check(t)
		if r.Lost != 1 || r.Invariant("I1").Violated != 1 || r.Invariant("I5").Violated != 1 {
			t.Errorf("of two forged lines %+v", r)
		}
		if v := r.Invariant("I1").Violations[0]; v.Job != "forged" || v.Lines[0].Number != r.Lines-1 {
			t.Errorf("told as %+v, of %d lines", v, r.Lines)
		}
	})
}

func TestRecorder_Account(t *testing.T) {
	t.Parallel()
	c, err := waybill.NewClient(redistest.Start(t).Client(), waybill.ClientOptions{})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	written := filepath.Join(t.TempDir(), "history.jsonl")
	file, err := os.Create(written)
	must(t, err)
	t.Cleanup(func() { _ = file.Close() })
	r := history.New(file, "test")
	t.Run("jobs that nobody recorded stand in it too", func(t *testing.T) {
		_, err := sums.Enqueue(t.Context(), c, 1, waybill.ID("unseen"))
		must(t, err)
		must(t, r.Account(t.Context(), c, tape{enqueue(1, "a", in("sums"))}.read(t)))
		text, err := os.Open(written)
		must(t, err)
		defer text.Close()
		got, err := history.Check(text)
		must(t, err)
		if got.Jobs != 1 || got.Unexpected != 1 {
			t.Errorf("the account has %+v", got)
		}
	})
	t.Run("a history that can't be read is told", func(t *testing.T) {
		err := r.Account(t.Context(), c, tape{{Op: "dream"}}.read(t))
		if !errors.Is(err, history.ErrUnreadable) {
			t.Errorf("account: %v", err)
		}
	})
	t.Run("a Redis that does not answer is told", func(t *testing.T) {
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Account(gone, c, tape{enqueue(1, "a", in("sums"))}.read(t)); err == nil {
			t.Error("account: no error")
		}
	})
}
