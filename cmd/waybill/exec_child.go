package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/runner"
)

// killAfter is how long a process group has between SIGTERM and SIGKILL.
const killAfter = 5 * time.Second

// lastRead is how long output is waited for once the whole process group is gone. Only a process that
// left the group may still hold it.
const lastRead = time.Second

// child is one process to run, in a process group of its own.
type child struct {
	argv, env []string
	stdin     []byte
	stderr    io.Writer // gets what the process writes there, as it comes
	groups    *groups
	started   func() // is told when the process runs
}

// ended is how a process ended.
type ended struct {
	state  *os.ProcessState
	told   error  // why it was told to stop; nil where it ended by itself
	stdout []byte // at most one byte over the limit; nil = nothing
	stderr string // its end
}

// run starts the process and waits for it, and for all of its group: nothing outlives it. The error
// says that it did not start.
//
// One thread starts the child and waits for it, since the kernel kills the child when the *thread*
// that started it ends (see processAttr).
func (c *child) run(ctx context.Context, ending <-chan struct{}) (ended, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The child's life is not a context's: a context would end the process, not its group.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.argv[0], c.argv[1:]...)
	cmd.Env, cmd.SysProcAttr = c.env, processAttr()
	out, errs := &head{most: runner.MaxResult + 1}, &tail{pass: c.stderr}
	streams, err := c.connect(cmd, out, errs)
	if err != nil {
		return ended{}, err
	}
	err = cmd.Start()
	streams.started()
	if err != nil {
		streams.finish()
		return ended{}, err
	}
	g := group(cmd.Process.Pid)
	c.groups.add(g)
	defer c.groups.remove(g)
	c.started()

	gone, told := make(chan struct{}), make(chan error, 1)
	go func() { told <- g.watch(ctx, ending, gone) }()
	_ = cmd.Wait() // its state tells more
	close(gone)
	why := <-told
	g.kill() // what is left of it
	streams.finish()
	return ended{cmd.ProcessState, why, out.bytes(), errs.String()}, nil
}

// watch ends the process group when there is a reason to, and returns the reason; nil where the
// process ended by itself. It returns when the process is gone, and after a reason when its group is.
func (g group) watch(ctx context.Context, ending, gone <-chan struct{}) error {
	var why error
	select {
	case <-gone:
		return atOnce(ending)
	case <-ctx.Done():
		why = context.Cause(ctx)
	case <-ending:
		why = waybill.ErrShutdown
	}
	select {
	case <-gone: // just then
		return atOnce(ending)
	default:
	}
	g.end(killAfter, gone)
	return why
}

// atOnce is the reason of an end that came with the worker's: all commands may have been killed.
func atOnce(ending <-chan struct{}) error {
	select {
	case <-ending:
		return waybill.ErrShutdown
	default:
		return nil
	}
}

// end asks the group to end and waits until it has; after the grace it kills. Once its leader is gone,
// zombies do not count: nobody may reap them for long, where the worker is process 1 of a container.
func (g group) end(grace time.Duration, gone <-chan struct{}) {
	g.terminate()
	enough := time.NewTimer(grace)
	defer enough.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for there := g.alive; there(); {
		select {
		case <-gone:
			gone, there = nil, g.runs
		case <-enough.C:
			g.kill()
			return
		case <-look.C:
		}
	}
}
