package fault_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

// TestR12_tenThousandWaits: 10,000 jobs of no length, each enqueued and then waited for, while the connections of
// pub/sub are killed at random and an operator deletes some of the jobs. Every wait returns soon after the end, with
// the right word.
func TestR12_tenThousandWaits(t *testing.T) {
	t.Parallel()
	const jobs, callers = 10_000, 500
	r := newRig(t)
	double := waybill.DefineResult[int, int]("double", waybill.KindOptions{Queue: queue, Retention: time.Minute})
	w, err := waybill.NewWorker(r.client, waybill.WorkerOptions{Concurrency: 50})
	must(t, err)
	double.Handle(w, func(_ context.Context, job *waybill.Job[int]) (int, error) {
		switch job.Args % 100 {
		case 1:
			return 0, waybill.Dead(errors.New("odd"))
		case 2:
			return 0, waybill.Cancel("even")
		}
		return 2 * job.Args, nil
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	rnd := random(t)
	kills := 0
	stop := during(func(int) {
		r.direct.Do(ctx, "CLIENT", "KILL", "TYPE", "pubsub")
		kills++
		time.Sleep(time.Duration(rnd.IntN(200)) * time.Millisecond) // the fault's rhythm
	})
	began, next := time.Now(), make(chan int)
	go func() {
		for n := range jobs {
			next <- n
		}
		close(next)
	}()
	var slowest time.Duration
	var mu sync.Mutex
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for n := range next {
				asked := time.Now()
				waitOne(t, r, double, n)
				mu.Lock()
				slowest = max(slowest, time.Since(asked))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	mean := time.Since(began) * callers / jobs
	stop()
	cancel()
	must(t, <-ended)
	t.Logf("slowest wait %s, mean %s, pub/sub killed %d times", slowest, mean, kills)
	if slowest > 20*time.Second+2*mean { // the mean is the machine's affair
		t.Errorf("a wait took %s", slowest)
	}
}

// waitOne enqueues one job and waits for it; every hundredth is due in an hour and deleted by an operator meanwhile.
func waitOne(t *testing.T, r *rig, double *waybill.ResultKind[int, int], n int) {
	var o []waybill.EnqueueOption
	if n%100 == 3 {
		o = append(o, waybill.After(time.Hour))
	}
	e, err := double.Enqueue(t.Context(), r.client, n, o...)
	if err != nil {
		t.Errorf("enqueue: %v", err)
		return
	}
	var deleting sync.WaitGroup
	if n%100 == 3 {
		deleting.Go(func() {
			if err := r.beside.Queue(queue).Delete(t.Context(), e.ID, waybill.DeleteOptions{}); err != nil {
				t.Errorf("delete: %v", err)
			}
		})
	}
	got, err := double.Wait(t.Context(), r.client, e.ID)
	deleting.Wait()
	want := map[int]error{1: waybill.ErrDead, 2: waybill.ErrCancelled, 3: waybill.ErrDeleted}[n%100]
	if !errors.Is(err, want) || want == nil && got != 2*n {
		t.Errorf("job %d: %d, %v; want %v", n, got, err, want)
	}
	if n%100 == 1 && !strings.Contains(err.Error(), "odd") {
		t.Errorf("the last error is to be told: %v", err)
	}
}
