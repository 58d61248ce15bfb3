package pipe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// slot keeps one child, until ctx ends and its last job is done.
func (p *Pool) slot(ctx context.Context) {
	first, fails := 1, 0
	for ctx.Err() == nil && !p.ends() {
		c, err := p.begin(ctx)
		if err == nil {
			p.count(first, 1)
			first = 0
			var jobs int
			jobs, err = p.offer(ctx, c)
			p.count(0, -1)
			if jobs > 0 { // it was of use; what ended it is the job's affair
				fails = 0
				continue
			}
		}
		if ctx.Err() != nil {
			return
		}
		p.count(first, 0)
		first = 0
		p.starts.Fail("", err)
		fails++
		pause(ctx, backoff(fails))
	}
}

// begin starts a child and waits until it is ready. The error says why it is not.
func (p *Pool) begin(ctx context.Context) (*child, error) {
	c, err := p.startChild()
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(p.o.ReadyTimeout)
	defer late.Stop()
	select {
	case <-c.ready:
		return c, nil
	case <-c.mute:
		exit := c.buried()
		if exit.Told != nil {
			err = fmt.Errorf("child %w before it was ready", exit.Told)
		} else {
			err = errors.New("child ended before it was ready: " + exit.Text())
		}
	case <-late.C:
		err = fmt.Errorf("child is not ready after %s: it is to write %s", p.o.ReadyTimeout, `{"type":"ready"}`)
		c.end(err)
	case <-ctx.Done():
		err = context.Cause(ctx)
		c.end(err) // it may not read yet
	}
	return nil, err
}

// offer lends the child to who has a job, again and again, until it ends or ctx does. It tells how many jobs it did,
// and how it ended.
func (p *Pool) offer(ctx context.Context, c *child) (jobs int, err error) {
	for {
		select {
		case <-c.mute:
			exit := c.buried()
			p.o.Log.Debug("child ended", slog.String(keyError, exit.Text()))
			return jobs, errors.New("child ended without a job: " + exit.Text())
		default:
		}
		select {
		case p.offers <- c:
			if <-c.back {
				jobs++
				p.starts.OK()
			}
		case <-c.mute:
		case <-ctx.Done():
			c.quit(p.o.Ending)
			return jobs, context.Cause(ctx)
		}
	}
}

// pause waits, until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
