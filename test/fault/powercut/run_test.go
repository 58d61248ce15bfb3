package powercut_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/internal/redistest"
)

// Queues of a run. The tight one has a capacity, and what finds it full is spilled.
const (
	wide, tight = "wide", "tight"
	capacity    = 30
)

// lease is short beside the time from the end of a run to the first image, so that what was active is soon taken back.
const lease = time.Second

// task is what a job of a run is to do: a letter an attempt.
type task struct{ Do string }

var work = waybill.Define[task]("work", waybill.KindOptions{
	Queue: wide, MaxFailures: 3, Retry: waybill.Fixed(20 * time.Millisecond),
})

// play plays a run of producers and workers on a server of a grade, and takes what it left.
func play(t *testing.T, grade string, e amount, rnd *rand.Rand) *tape {
	t.Helper()
	s := redistest.Start(
		t, redistest.Preload(), redistest.AOF(), redistest.Config("appendfsync", grade),
		redistest.Config("auto-aof-rewrite-percentage", "0"),
	)
	var lines bytes.Buffer
	rec := history.New(&lines, grade)
	producer, consumer := clientOf(t, s), clientOf(t, s)
	bound := int64(capacity)
	must(t, producer.Queue(tight).Set(t.Context(), waybill.QueueSettings{Capacity: &bound}))
	producer.Use(rec.Enqueues)
	stop := serve(t, consumer, rec)
	p := &tape{grade: grade, begun: history.Now()}
	ctx, cancel := context.WithTimeout(t.Context(), e.run)
	defer cancel()
	var all sync.WaitGroup
	for n := range 3 {
		mine := rand.New(rand.NewPCG(rnd.Uint64(), 0))
		all.Go(func() { produce(ctx, t, producer, sender{n, mine}) })
	}
	all.Wait()
	p.ended = history.Now()
	stop()
	must(t, rec.Err())
	s.Kill()
	p.calls = s.Disk().Calls()
	must(t, p.hear(lines.Bytes()))
	p.keep(t, s.Dir())
	return p
}

// sender is one producer, with chance of its own.
type sender struct {
	number int
	rnd    *rand.Rand
}

// produce enqueues until its time is over: the first producer many at a time, the others one by one. The pause is the
// run's pace.
func produce(ctx context.Context, t *testing.T, c *waybill.Client, s sender) {
	pause := 3 * time.Millisecond
	if s.number == 0 {
		pause = 60 * time.Millisecond
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		requests := []waybill.Request{s.request(n, 0)}
		for i := 1; s.number == 0 && i < 25; i++ {
			requests = append(requests, s.request(n, i))
		}
		if n%8 == 7 {
			requests = append(requests, requests[0]) // a repeat: a duplicate
		}
		answers, err := c.EnqueueMany(context.WithoutCancel(ctx), requests)
		if err != nil {
			t.Errorf("enqueue: %v, %+v", err, answers)
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (s sender) request(n, i int) waybill.Request {
	o := []waybill.EnqueueOption{waybill.ID(fmt.Sprintf("p%d-%d-%d", s.number, n, i)), waybill.OnFull(waybill.FullSpill)}
	switch s.rnd.IntN(8) {
	case 0:
		o = append(o, waybill.Priority(s.rnd.IntN(9)-4))
	case 1:
		o = append(o, waybill.After(time.Duration(s.rnd.IntN(900))*time.Millisecond))
	case 2:
		o = append(o, waybill.LIFO(), waybill.Header("tenant", "x"))
	}
	if s.rnd.IntN(8) > 0 { // the others are known by the window alone, once they have ended
		o = append(o, waybill.Retention(time.Hour))
	}
	plans := []string{"a", "a", "a", "ra", "sa", "rsa", "d", "c", "rrr", "ssa"}
	k := work
	if s.rnd.IntN(4) == 0 {
		k = work.On(tight)
	}
	return k.Request(task{plans[s.rnd.IntN(len(plans))]}, o...)
}

// serve runs a worker that does as the tasks say until stop is called.
func serve(t *testing.T, c *waybill.Client, rec *history.Recorder) (stop func()) {
	t.Helper()
	w, err := waybill.NewWorker(c, waybill.WorkerOptions{
		Queues: []waybill.QueueOptions{{Name: wide, Concurrency: 12}, {Name: tight, Concurrency: 4}},
		Lease:  lease, Observe: rec.Observe,
	})
	must(t, err)
	w.Use(rec.Attempts)
	work.Handle(w, func(ctx context.Context, job *waybill.Job[task]) error {
		take(ctx, time.Duration(len(job.ID)%4)*2*time.Millisecond)
		return job.Args.outcome(job.Number)
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		cancel()
		must(t, <-ended)
	}
}

// take is the time that a handler's work takes.
func take(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (k task) outcome(attempt int) error {
	switch k.Do[min(attempt, len(k.Do))-1] {
	case 'r':
		return errors.New("tried again")
	case 's':
		return waybill.Snooze(30 * time.Millisecond)
	case 'd':
		return waybill.Dead(errors.New("no use"))
	case 'c':
		return waybill.Cancel("not wanted")
	}
	return nil
}
