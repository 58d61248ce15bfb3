package pipe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/cmd/waybill/internal/process"
)

// noteTime bounds the telling of a progress.
const noteTime = 5 * time.Second

var errUnread = errors.New("settled a job that it had not read to its end")

// done is how a child came to the end of a job.
type done struct {
	settle *message // nil: it said nothing
	told   error    // why it was told to end; nil where it was not, or not for the job
	left   bool     // its process is gone
	unread bool     // it has seen nothing of the job, as far as that can be told
	exit   process.Exit
}

// do has the child do one job.
func (c *child) do(ctx context.Context, ending <-chan struct{}, a *waybill.Attempt) (done, error) {
	deadline, _ := ctx.Deadline()
	line, err := jobLine(a, deadline)
	if err != nil {
		return done{}, fmt.Errorf("write job: %w", err)
	}
	t := c.begin(a.ID, a.Token)
	defer c.over()
	var sent int
	written := make(chan struct{})
	go func() {
		defer close(written)
		sent, _ = c.proc.Write(line) // it may block until the child is gone
	}()
	d := c.hold(ctx, ending, t, a)
	switch {
	case d.left:
		<-written
		d.unread = d.settle == nil && d.exit.Unread >= sent
	case !soon(written):
		c.end(errUnread)
	}
	return d, nil
}

// soon tells whether a child that has settled has also read its job.
func soon(written <-chan struct{}) bool {
	enough := time.NewTimer(exitTime)
	defer enough.Stop()
	select {
	case <-written:
		return true
	case <-enough.C:
		return false
	}
}

// hold waits until the job is settled, or the child or the job is to end or has ended.
func (c *child) hold(ctx context.Context, ending <-chan struct{}, t *talk, a *waybill.Attempt) done {
	for {
		var why error
		select {
		case m := <-t.settled:
			return done{settle: &m}
		case m := <-t.progress:
			c.tell(ctx, a, m)
			continue
		case <-c.mute:
			exit := c.buried()
			return done{settle: t.last(), left: true, exit: exit}
		case <-ctx.Done():
			why = context.Cause(ctx)
		case <-ending:
			why = waybill.ErrShutdown
		}
		if m := t.last(); m != nil { // just then
			return done{settle: m}
		}
		exit := c.end(why)
		return done{settle: t.last(), told: why, left: true, exit: exit}
	}
}

// last is the settle that came, or nil.
func (t *talk) last() *message {
	select {
	case m := <-t.settled:
		return &m
	default:
		return nil
	}
}

// tell tells Redis of a progress. That fails no job.
func (c *child) tell(ctx context.Context, a *waybill.Attempt, m message) {
	ctx, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	err := m.bad
	if err == nil {
		err = a.Progress(ctx, m.percent(), m.Note)
	}
	if err != nil {
		c.log.Debug("a progress was not noted", slog.String(keyJob, a.ID), slog.Any(keyError, err))
	}
}

// outcome turns what a child did into the end of an attempt. A child that was told to end has not done its job,
// unless the job is to be cancelled.
func (d done) outcome(snooze time.Duration) ([]byte, error) {
	switch {
	case errors.Is(d.told, waybill.ErrShutdown):
		return nil, release(d.told)
	case d.told != nil && (d.settle == nil || !errors.Is(d.told, waybill.ErrCancelled)):
		return nil, fmt.Errorf("%w: %s", d.told, d.exit.Text())
	case d.settle != nil:
		return d.settle.outcome(snooze)
	case d.exit.Told != nil:
		return nil, fmt.Errorf("child %w: %s", d.exit.Told, d.exit.Text())
	}
	return nil, errors.New("child ended in mid-job: " + d.exit.Text())
}
