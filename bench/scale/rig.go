package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/devredis"
)

const (
	startTimeout = 10 * time.Second
	chunk        = 1000 // jobs a call
	payloadBytes = 200
	slowFrom     = 5 * time.Millisecond // what the server's slow log keeps
)

var errNoServer = errors.New("neither redis-server nor valkey-server is on the PATH")

// rig is a private Redis with a client.
type rig struct {
	*waybill.Client
	version string
	dir     string
	process *devredis.Process
	rdb     *redis.Client
	queue   *waybill.Queue
}

func startRig(ctx context.Context) (*rig, error) {
	binary, ok := devredis.Find()
	if !ok {
		return nil, errNoServer
	}
	dir, err := os.MkdirTemp("", "wbscale")
	if err != nil {
		return nil, err
	}
	r := &rig{dir: dir}
	if err := r.launch(ctx, binary); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *rig) launch(ctx context.Context, binary string) error {
	socket := filepath.Join(r.dir, "s")
	var err error
	r.process, err = devredis.Command{Binary: binary, Dir: r.dir, Args: []string{
		"--daemonize", "no", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "yes",
		"--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0", // a rewrite would fork in the middle of a figure
		"--slowlog-log-slower-than", fmt.Sprint(slowFrom.Microseconds()), "--slowlog-max-len", "1024",
		"--latency-monitor-threshold", fmt.Sprint(slowFrom.Milliseconds()),
	}}.Start()
	if err != nil {
		return err
	}
	ready, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if r.version, err = r.process.WaitReady(ready, "unix", socket); err != nil {
		return err
	}
	r.rdb = redis.NewClient(&redis.Options{Network: "unix", Addr: socket, PoolSize: 40, ReadTimeout: time.Minute})
	r.Client, err = waybill.NewClient(r.rdb, waybill.ClientOptions{})
	if err == nil {
		r.queue = r.Queue("big")
	}
	return err
}

func (r *rig) close() {
	if r.Client != nil {
		_ = r.Client.Close() // always nil
	}
	if r.rdb != nil {
		_ = r.rdb.Close() // the server ends next
	}
	if r.process != nil {
		r.process.Kill()
	}
	_ = os.RemoveAll(r.dir) // a temporary folder
}

var payload = slices.Repeat([]byte("x"), payloadBytes)

// fill makes the big queue.
func (r *rig) fill(ctx context.Context, s settings, w io.Writer) error {
	began, none := time.Now(), int64(waybill.Unlimited)
	if err := r.queue.Set(ctx, waybill.QueueSettings{DeadCount: &none}); err != nil {
		return err
	}
	if err := r.enqueue(ctx, "big", s.waiting, "w", 0); err != nil {
		return err
	}
	if err := r.enqueue(ctx, "big", s.scheduled, "s", 24*time.Hour); err != nil {
		return err
	}
	if err := r.bury(ctx, s.dead); err != nil {
		return err
	}
	memory, err := r.rdb.Info(ctx, "memory").Result()
	if err != nil {
		return err
	}
	used := field(memory, "used_memory")
	all := float64(s.waiting + s.scheduled + s.dead)
	fmt.Fprintf(w, "%d waiting, %d scheduled, %d dead jobs of %d bytes: made in %s, %.0f bytes of memory a job\n\n",
		s.waiting, s.scheduled, s.dead, payloadBytes, time.Since(began).Round(time.Second), used/all)
	return nil
}

// enqueue sends n jobs, named name-1 and so on.
func (r *rig) enqueue(ctx context.Context, queue string, n int, name string, in time.Duration) error {
	for from := 0; from < n; from += chunk {
		requests := make([]waybill.Request, min(chunk, n-from))
		for i := range requests {
			requests[i] = waybill.Request{
				Queue: queue, Kind: name, ID: fmt.Sprintf("%s-%d", name, from+i+1), Payload: payload, Delay: in,
			}
		}
		if _, err := r.EnqueueMany(ctx, requests); err != nil {
			return err
		}
	}
	return nil
}

// bury makes dead jobs, each with an error.
func (r *rig) bury(ctx context.Context, n int) error {
	now := time.Now()
	for from := 0; from < n; from += chunk {
		jobs := make([]waybill.JobInfo, min(chunk, n-from))
		for i := range jobs {
			jobs[i] = waybill.JobInfo{
				ID: fmt.Sprintf("d-%d", from+i+1), Kind: "d", Known: true, State: waybill.StateDead, Payload: payload,
				Attempt: 3, Failures: 3, EnqueuedAt: now, FinishedAt: now,
				Errors: []waybill.JobError{{Attempt: 3, At: now, Type: "failure", Message: "no such user"}},
			}
		}
		if _, err := r.queue.Restore(ctx, jobs); err != nil {
			return err
		}
	}
	return nil
}

// rates measures enqueue and work at each depth: jobs a second, while so many others wait.
func (r *rig) rates(ctx context.Context, depths []int, w io.Writer) error {
	fmt.Fprintf(w, "%10s  %14s  %14s   one goroutine, 20,000 jobs of %d bytes by 1,000; no handler work, 100 slots, %d CPUs\n",
		"waiting", "enqueue, 1/s", "work, 1/s", payloadBytes, runtime.NumCPU())
	const jobs = 20_000
	for i, depth := range append(depths[:1:1], depths...) {
		queue := fmt.Sprintf("depth-%d", depth)
		if err := r.enqueue(ctx, queue, depth, "fill", 0); err != nil {
			return err
		}
		began := time.Now()
		if err := r.enqueue(ctx, queue, jobs, "more", 0); err != nil {
			return err
		}
		sent := time.Since(began)
		worked, err := r.work(ctx, queue, jobs)
		if err != nil {
			return err
		}
		if i > 0 { // the first is to warm up
			fmt.Fprintf(w, "%10d  %14.0f  %14.0f\n", depth, jobs/sent.Seconds(), jobs/worked.Seconds())
		}
		if err := r.rdb.FlushAllAsync(ctx).Err(); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	return nil
}
