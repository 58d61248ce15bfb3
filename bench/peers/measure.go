package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// producers is how many callers enqueue at once.
const producers = 50

// enqueueBy measures the enqueue of all jobs, one a call, by so many callers.
func enqueueBy(callers int) func(context.Context, *stage) (trial, error) {
	return func(ctx context.Context, s *stage) (trial, error) {
		t, err := s.timed(ctx, s.jobs, func() error { return s.produce(ctx, callers) })
		if err != nil {
			return t, err
		}
		return t, s.filled(ctx)
	}
}

// enqueueIn measures the enqueue of all jobs in batches by one caller.
func enqueueIn(batch int) func(context.Context, *stage) (trial, error) {
	return func(ctx context.Context, s *stage) (trial, error) {
		t, err := s.timed(ctx, s.jobs, func() error { return s.fill(ctx, batch) })
		if err != nil {
			return t, err
		}
		return t, s.filled(ctx)
	}
}

// drain measures how a worker empties a full queue, from its start until the last job is settled.
func drain(ctx context.Context, s *stage) (trial, error) {
	if err := s.produce(ctx, producers); err != nil {
		return trial{}, err
	}
	return s.worked(ctx, func(context.Context) error { return nil })
}

// cycle measures producers and a worker in one process, from the first enqueue until the last job
// is settled.
func cycle(ctx context.Context, s *stage) (trial, error) {
	s.eager = true // so that the empty queue at the start costs a polling system nothing
	return s.worked(ctx, func(ctx context.Context) error { return s.produce(ctx, producers) })
}

// worked measures a worker until all jobs are settled, while also does its part.
func (s *stage) worked(ctx context.Context, also func(context.Context) error) (t trial, err error) {
	handle := func(p []byte) { s.account.handle(p) }
	settled := make(chan struct{})
	var all sync.WaitGroup
	var workErr error
	t, err = s.timed(ctx, s.jobs, func() error {
		inTime := make(chan error, 1)
		all.Go(func() {
			workErr = s.working(ctx, handle, func(ctx context.Context) error {
				err := also(ctx)
				if err == nil {
					err = s.finished(ctx)
				}
				inTime <- err
				<-settled // the worker's end is not part of the figure
				return err
			})
		})
		return <-inTime
	})
	close(settled)
	all.Wait()
	if err == nil {
		err = workErr
	}
	if err != nil {
		return t, err
	}
	t.Concurrency = s.concurrency
	return t, s.balanced(ctx)
}

// produce enqueues all jobs, one a call.
func (s *stage) produce(ctx context.Context, callers int) error {
	var next atomic.Int64
	errs := make(chan error, callers)
	for range callers {
		go func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= s.jobs {
					errs <- nil
					return
				}
				if err := s.enqueue(ctx, s.payload(i)); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	var first error
	for range callers {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// fill enqueues all jobs in batches.
func (s *stage) fill(ctx context.Context, batch int) error {
	many, ok := s.contender.(bulk)
	if !ok {
		return fmt.Errorf("%T has no call for many jobs", s.contender)
	}
	for from := 0; from < s.jobs; from += batch {
		payloads := make([][]byte, 0, batch)
		for i := from; i < min(from+batch, s.jobs); i++ {
			payloads = append(payloads, s.payload(i))
		}
		if err := many.enqueueMany(ctx, payloads); err != nil {
			return err
		}
	}
	return nil
}

// filled checks that the queue holds all jobs.
func (s *stage) filled(ctx context.Context) error {
	n, err := s.left(ctx)
	if err == nil && n != s.jobs {
		err = fmt.Errorf("%w: %d of %d jobs wait", errAccount, n, s.jobs)
	}
	return err
}
