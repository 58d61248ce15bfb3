package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
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
	argv   []string
	env    []string      // of this process
	snooze time.Duration // after status 75
	stderr io.Writer
	starts starts
	// ending is closed when the grace is over: commands are told to stop and their jobs released.
	ending  chan struct{}
	running groups
}

// handle is the handler of every kind.
func (c *commands) handle(ctx context.Context, a *waybill.Attempt) ([]byte, error) {
	deadline, _ := ctx.Deadline()
	run := &child{
		argv: c.argv, env: environment(c.env, a, deadline), stdin: a.Payload, stderr: c.stderr, groups: &c.running, started: c.starts.ok,
	}
	end, err := run.run(ctx, c.ending)
	if err != nil {
		c.starts.fail(a.ID, err)
		return nil, release(err)
	}
	return c.outcome(end)
}

// outcome turns the end of a process into the end of an attempt. A process that was told to stop has
// not done its job, whatever its status: programs commonly answer SIGTERM by status 0. Only where the
// job is to be cancelled, what it finished counts.
func (c *commands) outcome(end ended) ([]byte, error) {
	switch {
	case errors.Is(end.told, waybill.ErrShutdown):
		return nil, release(end.told)
	case end.told != nil && !errors.Is(end.told, waybill.ErrCancelled):
		return nil, fmt.Errorf("%w: %s", end.told, end.text())
	}
	switch end.state.ExitCode() {
	case 0:
		return end.stdout, nil
	case statusSnooze:
		return nil, waybill.Snooze(c.snooze)
	case statusDead:
		return nil, waybill.Dead(errors.New(end.text()))
	}
	return nil, errors.New(end.text())
}

// release gives a job back that this worker can't run, or not now: it is no failure of the job.
func release(err error) error { return &runner.Steer{End: runner.Release, Err: err} }

// text is what a process left for people: how it ended, and the end of its stderr.
func (e ended) text() string {
	text := e.state.String() // "exit status 3", "signal: killed"
	if tail := strings.TrimSpace(e.stderr); tail != "" {
		text += ": " + tail
	}
	return text
}
