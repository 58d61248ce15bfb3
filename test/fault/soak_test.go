package fault_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// soakEnv sets how long the soak takes, as in WAYBILL_SOAK=10m; workerEnv names the Redis of a worker process, which is
// this test binary.
const (
	soakEnv   = "WAYBILL_SOAK"
	workerEnv = "WAYBILL_TEST_WORKER"
	soakLease = time.Second
)

// soakWorker is what a worker process does until it is told to end.
func soakWorker(url string) int {
	o, err := redis.ParseURL(url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	rdb := redis.NewClient(o)
	defer rdb.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer c.Close()
	w, err := waybill.NewWorker(c, waybill.WorkerOptions{Concurrency: 20, Lease: soakLease, Grace: time.Second})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	work.Handle(w, soakJob)
	if err := w.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// soakJob does what handlers do, each by its number: most work for some milliseconds, some fail, snooze, take longer
// than a lease, give up or enqueue nothing more.
func soakJob(ctx context.Context, job *waybill.Job[int]) error {
	d := time.Duration(job.Args%17) * time.Millisecond
	switch {
	case job.Args%500 == 0: // where its workers are killed again and again it becomes a suspect, and waits ever longer
		d = 3 * soakLease / 2
	case job.Args%20 == 1 && job.Failures < 2:
		return errors.New("not yet")
	case job.Args%20 == 2 && job.Number < 3:
		return waybill.Snooze(10 * time.Millisecond)
	case job.Args%200 == 3:
		return waybill.Dead(errors.New("hopeless"))
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return job.Progress(ctx, 100, "done")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// soakProcess is a worker process that can be killed, frozen and replaced.
type soakProcess struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

func startSoakWorker(t *testing.T, url string) *soakProcess {
	t.Helper()
	p := &soakProcess{cmd: exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0]), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), workerEnv+"="+url)
	p.cmd.Stderr = os.Stderr
	must(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended is of no matter: most are killed
	}()
	return p
}

func (p *soakProcess) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// TestSoak: producers, three worker processes, and faults at random: workers killed, frozen past their lease and told to
// stop, Redis killed and started again, pub/sub cut. At the end every job that was taken has ended, once in the account,
// and the audit finds nothing out of place.
func TestSoak(t *testing.T) {
	t.Parallel()
	length := 8 * time.Second
	if text := os.Getenv(soakEnv); text != "" {
		var err error
		length, err = time.ParseDuration(text)
		must(t, err)
	}
	r := newRig(t, redistest.AOF(), redistest.Config("appendfsync", "always"))
	must(t, r.beside.Queue(queue).Set(t.Context(), waybill.QueueSettings{CrashAllowance: ptr(int64(waybill.Unlimited))}))
	rnd := random(t)
	var workers [3]*soakProcess
	for i := range workers {
		workers[i] = startSoakWorker(t, r.server.URL())
		defer func() { workers[i].kill() }()
	}
	over := make(chan struct{})
	taken := soakProducers(t, r, over)
	faults := map[string]int{}
	for began := time.Now(); time.Since(began) < length; {
		time.Sleep(time.Duration(200+rnd.IntN(600)) * time.Millisecond) // the rhythm of the faults
		faults[soakFault(t, r, rnd, &workers[rnd.IntN(len(workers))])]++
	}
	close(over)
	ids := taken()
	s := r.settled()
	for i := range workers {
		workers[i].kill()
	}
	t.Logf("%d jobs in %s, faults %v; %d deliveries, %d crashes, %d stale", len(ids), length, faults, s.Deliveries, s.Crashes, s.Stale)
	soakAccount(t, r, ids, s)
}

// soakFault does one thing that goes wrong, and names it.
func soakFault(t *testing.T, r *rig, rnd *rand.Rand, w **soakProcess) string {
	switch n := rnd.IntN(20); {
	case n < 9:
		(*w).kill()
		*w = startSoakWorker(t, r.server.URL())
		return "killed"
	case n < 12:
		_ = (*w).cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(2 * soakLease) // the fault's length
		_ = (*w).cmd.Process.Signal(syscall.SIGCONT)
		return "frozen"
	case n < 15:
		_ = (*w).cmd.Process.Signal(syscall.SIGTERM)
		<-(*w).ended
		*w = startSoakWorker(t, r.server.URL())
		return "stopped"
	case n < 18:
		r.direct.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub")
		return "pub/sub cut"
	default:
		r.server.Kill()
		r.server.Restart()
		return "redis restarted"
	}
}

// soakProducers enqueue until over is closed; taken then gives the IDs of the jobs that were taken.
func soakProducers(t *testing.T, r *rig, over <-chan struct{}) (taken func() map[string]bool) {
	ids := map[string]bool{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for p := range 4 {
		all.Go(func() {
			pace := time.NewTicker(10 * time.Millisecond)
			defer pace.Stop()
			for n := p; ; n += 4 {
				select {
				case <-over:
					return
				case <-pace.C:
				}
				o := []waybill.EnqueueOption{waybill.Retention(2 * time.Hour), waybill.MaxFailures(5)}
				if n%3 == 0 {
					o = append(o, waybill.After(time.Duration(n%500)*time.Millisecond), waybill.Priority(n%7-3))
				}
				e, err := work.Enqueue(t.Context(), r.client, n, o...)
				for err != nil { // the same ID until it is taken
					e, err = work.Enqueue(t.Context(), r.client, n, append(o, waybill.ID(e.ID))...)
				}
				mu.Lock()
				ids[e.ID] = true
				mu.Unlock()
			}
		})
	}
	return func() map[string]bool {
		all.Wait()
		return ids
	}
}

// soakAccount checks that each job that was taken has ended, and that nothing is out of place.
func soakAccount(t *testing.T, r *rig, ids map[string]bool, s waybill.QueueStats) {
	t.Helper()
	if s.Accepted != int64(len(ids)) || s.Orphans != 0 {
		t.Errorf("%d jobs were taken, %d accepted, %d orphans", len(ids), s.Accepted, s.Orphans)
	}
	ended := waybill.Filter{States: []waybill.State{waybill.StateCompleted, waybill.StateDead, waybill.StateCancelled}}
	for j, err := range r.beside.Queue(queue).Jobs(t.Context(), ended) {
		must(t, err)
		if !ids[j.ID] {
			t.Errorf("%s has ended twice, or nobody enqueued it", j.ID)
		}
		delete(ids, j.ID)
	}
	for id := range ids {
		t.Errorf("%s was taken and has not ended", id)
	}
	st, err := store.New(r.direct, store.Options{})
	must(t, err)
	q, err := st.Queue(queue)
	must(t, err)
	found, err := q.Audit(false).Run(t.Context())
	must(t, err)
	for _, f := range found {
		t.Errorf("the audit found %s: %s", f.What, f.Item)
	}
}

func ptr[T any](v T) *T { return &v }
