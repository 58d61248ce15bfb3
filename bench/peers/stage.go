package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// trialTimeout bounds one trial: the slowest takes about half a minute.
const trialTimeout = 5 * time.Minute

// lookAgain is the pause between two looks whether a queue is empty.
const lookAgain = time.Millisecond

// stage is what one trial takes place on: a fresh server and a system on it.
type stage struct {
	*server
	contender
	*account
	jobs        int
	concurrency int
	eager       bool
	idle        time.Duration // how long an idle worker is watched
	profile     profiles      // of what is measured, without what goes before
}

// onStage runs one trial on a stage of its own.
func (s settings) onStage(ctx context.Context, m measurement, sys system) (t trial, err error) {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	srv, err := startServer(ctx)
	if err != nil {
		return trial{}, err
	}
	defer srv.close()
	c, err := open(ctx, sys.name, srv)
	if err != nil {
		return trial{}, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	jobs := m.jobs(s.jobs)
	st := &stage{
		server: srv, contender: c, account: newAccount(jobs), jobs: jobs,
		concurrency: sys.concurrency, eager: sys.name == sysEager, idle: s.idle, profile: s.profile,
	}
	t, err = m.run(ctx, st)
	t.Measure, t.System = m.name, sys.name
	if err != nil {
		return t, fmt.Errorf("%s of %s: %w", m.name, sys.name, err)
	}
	return t, nil
}

// working runs the system's worker while do does its part, then ends it.
func (s *stage) working(ctx context.Context, handle func([]byte), do func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	work, stop := context.WithCancel(ctx)
	go func() {
		err := s.work(work, workOptions{concurrency: s.concurrency, eager: s.eager, handle: handle})
		if err != nil {
			cancel(err) // do would wait for ever
		}
		ended <- err
	}()
	err := do(ctx)
	stop()
	return errors.Join(err, <-ended)
}

// finished waits until every job has run and the queue holds none.
func (s *stage) finished(ctx context.Context) error {
	select {
	case <-s.done:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", context.Cause(ctx), s.check())
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		n, err := s.left(ctx)
		if err != nil || n == 0 {
			return err
		}
		<-tick.C
	}
}

// balanced checks the account, against the queue's own count too.
func (s *stage) balanced(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	n, counts, err := s.ended(ctx)
	if err == nil && counts && n != s.jobs {
		err = fmt.Errorf("%w: the queue says that %d of %d jobs ended well", errAccount, n, s.jobs)
	}
	return err
}
