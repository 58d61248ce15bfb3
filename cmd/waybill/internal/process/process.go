// Package process runs the commands of a worker: each in a process group of its own, so that nothing of it outlives
// the job. Once is a process for one job; Child is one that lives on and does job after job.
package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
)

// KillAfter is how long a process group has between SIGTERM and SIGKILL.
const KillAfter = 5 * time.Second

// lastRead is how long output is waited for once the whole process group is gone. Only a process that
// left the group may still hold it.
const lastRead = time.Second

// Command is what to run. No shell reads it.
type Command struct {
	Argv   []string // the program and its arguments; at least one
	Env    []string // NAME=VALUE; all that the process gets
	Stderr io.Writer
	Groups *Groups // where it is entered while it runs
}

// Exit is how a process ended.
type Exit struct {
	State  *os.ProcessState
	Told   error  // why it was told to stop; nil where it ended by itself
	Stderr string // its end
	Unread int    // bytes of its stdin that it left unread; 0 also where that can't be told
}

// Text tells the end of a process: its status, and the end of what it wrote to stderr.
func (e Exit) Text() string {
	text := e.State.String()
	if last := strings.TrimSpace(e.Stderr); last != "" {
		text = fmt.Sprintf("%s: %s", text, last)
	}
	return text
}

// running is a process on its way: what it is run with, and where its ends are.
type running struct {
	cmd     *exec.Cmd
	groups  *Groups
	streams *streams
	errs    *tail
	started func(error) // is told whether it runs
}

// prepare makes a process ready to be started. stdout serves what it writes, stdin what it reads; nil: its feed is
// for the caller to write to.
func (c *Command) prepare(stdin func(io.WriteCloser), stdout func(io.Reader)) (*running, error) {
	// The process's life is not a context's: a context would end the process, not its group.
	cmd := exec.CommandContext(context.Background(), c.Argv[0], c.Argv[1:]...)
	cmd.Env, cmd.SysProcAttr = c.Env, processAttr()
	errs := &tail{pass: c.Stderr}
	s, err := connect(cmd, serving{stdin, stdout, func(r io.Reader) { _, _ = io.Copy(errs, r) }})
	if err != nil {
		return nil, err
	}
	return &running{cmd: cmd, groups: c.Groups, streams: s, errs: errs}, nil
}

// run starts the process and waits for it, and for all of its group: nothing outlives it. False: it did not start.
//
// One thread starts the process and waits for it, since the kernel kills it when the *thread*
// that started it ends (see processAttr).
func (r *running) run(ctx context.Context, ending <-chan struct{}) (Exit, bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := r.cmd.Start()
	r.streams.started()
	if err != nil {
		r.streams.finish()
		r.started(err)
		return Exit{}, false
	}
	g := group(r.cmd.Process.Pid)
	r.groups.add(g)
	defer r.groups.remove(g)
	r.started(nil)

	gone, told := make(chan struct{}), make(chan error, 1)
	go func() { told <- g.watch(ctx, ending, gone) }()
	_ = r.cmd.Wait() // its state tells more
	close(gone)
	why := <-told
	g.kill() // what is left of it
	r.streams.finish()
	return Exit{r.cmd.ProcessState, why, r.errs.String(), r.streams.unread}, true
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
	g.end(KillAfter, gone)
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
