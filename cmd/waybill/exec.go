package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/cmd/waybill/internal/process"
	"github.com/waybillhq/waybill/internal/runner"
)

// Exit statuses by which a command steers its job; 0 is done, all others are failures.
const (
	statusDead   = 65 // EX_DATAERR of sysexits.h
	statusSnooze = 75 // EX_TEMPFAIL
)

// commands runs each job as a process of its own: the payload on stdin, the result on stdout.
// Payloads reach neither the arguments nor a shell.
type commands struct {
	argv    []string
	env     []string      // of this process
	snooze  time.Duration // after status 75
	stderr  io.Writer
	starts  *process.Starts
	ending  <-chan struct{} // closed when commands are to end, their jobs released
	running process.Groups
}

// handle is the handler of every kind.
func (c *commands) handle(ctx context.Context, a *waybill.Attempt) ([]byte, error) {
	deadline, _ := ctx.Deadline()
	run := &process.Once{
		Command: process.Command{Argv: c.argv, Env: environment(c.env, a, deadline), Stderr: c.stderr, Groups: &c.running},
		Stdin:   a.Payload,
		Most:    runner.MaxResult + 1, // one byte over the limit tells the worker to drop it
		Started: c.starts.OK,
	}
	end, stdout, err := run.Run(ctx, c.ending)
	if err != nil {
		c.starts.Fail(a.ID, err)
		return nil, release(err)
	}
	return c.outcome(end, stdout)
}

// outcome turns the end of a process into the end of an attempt. A process that was told to stop has
// not done its job, whatever its status: programs commonly answer SIGTERM by status 0. Only where the
// job is to be cancelled, what it finished counts.
func (c *commands) outcome(end process.Exit, stdout []byte) ([]byte, error) {
	switch {
	case errors.Is(end.Told, waybill.ErrShutdown):
		return nil, release(end.Told)
	case end.Told != nil && !errors.Is(end.Told, waybill.ErrCancelled):
		return nil, fmt.Errorf("%w: %s", end.Told, end.Text())
	}
	switch end.State.ExitCode() {
	case 0:
		return stdout, nil
	case statusSnooze:
		return nil, waybill.Snooze(c.snooze)
	case statusDead:
		return nil, waybill.Dead(errors.New(end.Text()))
	}
	return nil, errors.New(end.Text())
}

// release gives a job back that this worker can't run, or not now: it is no failure of the job.
func release(err error) error { return &runner.Steer{End: runner.Release, Err: err} }
