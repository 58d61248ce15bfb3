package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/devredis"
)

// What the demo does.
const (
	demoQueue  = "demo"
	demoKind   = "demo.greet"
	demoJobs   = 300
	demoTwice  = 12 // of them sent again
	demoSlots  = 5  // jobs at a time of a worker
	demoWork   = 40 * time.Millisecond
	demoLease  = 2 * time.Second
	demoLimit  = time.Minute // no longer than this, whatever happens
	demoAtKill = demoJobs / 3
)

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Show the queue at work: two workers, one of them killed", Args: between(0, 0),
		Long: `Demo starts a Redis of its own (see waybill dev), enqueues some hundred jobs, works them off with
two worker processes, kills one of them with SIGKILL in the middle, and prints an account that adds
up. It leaves nothing behind. The exit status is 1 where a job is lost or the account is wrong.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			ctx, cancel := context.WithTimeoutCause(ctx, demoLimit, errors.New("the demo takes too long"))
			defer cancel()
			return a.demo(ctx)
		},
	}
}

// demo is one run of it.
type demo struct {
	*app
	client  connection
	dir     string // for what it writes
	workers []*demoWorker
	began   time.Time
}

// demoWorker is a worker process, seen from outside.
type demoWorker struct {
	*devredis.Process
	journal string // path of the file in which it writes what it begins and ends
}

func (a *app) demo(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "waybill-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := devredis.Start(ctx, devredis.Options{Dir: filepath.Join(dir, "redis")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	a.redisURL, a.redisFile = s.URL(), ""
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	d := &demo{app: a, client: c, dir: dir, began: time.Now()}
	defer d.killAll()
	d.step("Redis", "%s", server(s))
	for _, do := range []func(context.Context) error{d.enqueue, d.start, d.kill, d.settle, d.stop, d.account} {
		if err = do(ctx); err == nil {
			continue
		}
		if ctx.Err() != nil {
			return fmt.Errorf("demo: %w", context.Cause(ctx))
		}
		return err
	}
	return nil
}

func server(s *devredis.Server) string {
	if s.Durable() {
		return s.Version() + " on " + s.URL() + ", with an append-only file, in a temporary directory"
	}
	return "neither redis-server nor valkey-server is installed: a stand-in in memory, on " + s.URL()
}

// step prints one line of the story.
func (d *demo) step(name, format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n          ")
	fmt.Fprintf(d.stdout, "%s%s %s\n", d.paint(d.stdout, bold, name), strings.Repeat(" ", 9-len(name)), text)
}

// enqueue sends the jobs, and some of them again.
func (d *demo) enqueue(ctx context.Context) error {
	requests := make([]waybill.Request, demoJobs)
	for i := range requests {
		id := fmt.Sprintf("greet-%03d", i+1)
		requests[i] = waybill.Request{Queue: demoQueue, Kind: demoKind, ID: id, Payload: []byte(id)}
	}
	for _, send := range []struct {
		what string
		jobs []waybill.Request
	}{
		{"%d jobs, each with an ID of its own: %s", requests},
		{"%d of them again, as after a lost reply: %s, so nothing is done twice", requests[:demoTwice]},
	} {
		said, err := d.client.EnqueueMany(ctx, send.jobs)
		if err != nil {
			return err
		}
		t := tally{counts: map[waybill.Outcome]int64{}}
		for _, e := range said {
			t.add(e)
		}
		d.step("Enqueue", send.what, len(said), t.summary())
	}
	return nil
}

// start starts the worker processes.
func (d *demo) start(context.Context) error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	var pids []string
	for i := range 2 {
		w := &demoWorker{journal: filepath.Join(d.dir, fmt.Sprintf("worker-%d", i+1))}
		w.Process, err = devredis.Command{Binary: binary, Args: []string{
			"demo-worker", w.journal, "--redis", d.redisURL, "--prefix", d.prefix,
		}}.Start()
		if err != nil {
			return err
		}
		d.workers = append(d.workers, w)
		pids = append(pids, fmt.Sprintf("worker %d is process %d", i+1, w.PID()))
	}
	d.step("Work", "%s, %d jobs at a time each", strings.Join(pids, ", "), demoSlots)
	return nil
}

// kill kills the first worker in the middle of its work.
func (d *demo) kill(ctx context.Context) error {
	victim := d.workers[0]
	err := d.until(ctx, func(s waybill.QueueStats) (bool, error) {
		j, err := readJournal(victim.journal)
		return s.Completed >= demoAtKill && len(j.inHand()) > 0, err
	})
	if err != nil {
		return err
	}
	victim.Kill()
	j, err := readJournal(victim.journal)
	if err != nil {
		return err
	}
	held := j.inHand()
	d.step("Kill", "worker 1 gets SIGKILL with %d jobs in hand: %s\nIt tells nobody. Its leases (%v) run out, and worker 2 gets those jobs.",
		len(held), strings.Join(held, " "), demoLease)
	return nil
}

// settle waits until no job is live.
func (d *demo) settle(ctx context.Context) error {
	err := d.until(ctx, func(s waybill.QueueStats) (bool, error) { return s.Live() == 0, nil })
	if err == nil {
		d.step("Settled", "after %.1f s", time.Since(d.began).Seconds())
	}
	return err
}

// stop ends the worker that is left, as a supervisor does.
func (d *demo) stop(context.Context) error {
	if err := d.workers[1].Stop(10 * time.Second); err != nil {
		return fmt.Errorf("worker 2: %w", err)
	}
	d.step("Stop", "worker 2 gets SIGTERM and ends with status 0")
	return nil
}

func (d *demo) killAll() {
	for _, w := range d.workers {
		w.Kill()
	}
}
