package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/cmd/waybill/internal/process"
)

// stopTime bounds a stop after the grace: commands end or are killed, and their jobs are given back.
const stopTime = process.KillAfter + 15*time.Second

// Ends of a worker that are not in order.
var (
	errAtOnce = errors.New("stopped at once: the leases bring the jobs back")
	errStuck  = errors.New("jobs do not end: the leases bring them back")
)

// shift is the life of a worker, until its jobs have ended. Once it claims no more it is quiet,
// or in its grace, or its grace is over.
type shift struct {
	run func(context.Context) error
	// empty waits until the queues are empty, and tells what is left that can't be taken; false where the context ended
	// first. nil = they need not be empty.
	empty   func(context.Context) (bool, error)
	rest    func()        // is told when no more is claimed
	kill    func()        // ends all jobs at once
	ending  chan struct{} // is closed when the grace is over: jobs are to end, and are given back
	log     *slog.Logger
	grace   time.Duration
	signals chan os.Signal
	asked   chan struct{} // an operator elsewhere asks to stop: one place

	stopClaims context.CancelFunc
	quiet      bool             // claim no more, but stay
	stopping   bool             // in the grace, or after it
	told       bool             // to end, by a signal: the next one ends all at once
	over       <-chan time.Time // the grace
	enough     <-chan time.Time // our patience after it
	left       error            // what is left in the queues that are empty, and can't be taken
}

// work works until it is told to end, or the queues are empty.
func (s *shift) work(ctx context.Context) error {
	signal.Notify(s.signals, append([]os.Signal{os.Interrupt, syscall.SIGTERM}, quietSignals...)...)
	defer signal.Stop(s.signals)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE) // who reads our stderr may go: a failed write, not the end of the worker
	defer signal.Stop(pipe)
	claims, stop := context.WithCancel(ctx)
	defer stop()
	s.stopClaims = func() {
		s.rest()
		stop()
	}
	ended := make(chan error, 1)
	go func() { ended <- s.run(claims) }()
	look, enough := context.WithCancel(ctx) // also when it is quiet
	defer enough()
	empty := s.watch(look)
	for {
		select {
		case err := <-ended:
			if err != nil || s.stopping || !s.quiet {
				return err
			}
			return s.stay(empty)
		case s.left = <-empty:
			s.quiet, empty = false, nil // there is nothing to stay for
			s.stopClaims()
		case sig := <-s.signals:
			if err := s.signal(sig); err != nil {
				return err
			}
		case <-s.asked:
			s.stop(nil)
		case <-s.over:
			s.endJobs()
		case <-s.enough:
			return errStuck
		}
	}
}

// observe heeds what an operator asks of the worker from elsewhere.
func (s *shift) observe(e waybill.Event) {
	switch e.Type {
	case waybill.EventQuietAsked:
		s.rest()
	case waybill.EventStopAsked:
		select {
		case s.asked <- struct{}{}:
		default: // it was before
		}
	default:
	}
}

// watch gives a channel that tells once that the queues are empty, and what is left, if that ends the worker.
func (s *shift) watch(ctx context.Context) <-chan error {
	empty := make(chan error, 1)
	go func() {
		if s.empty == nil {
			return
		}
		if ok, left := s.empty(ctx); ok {
			empty <- left
		}
	}()
	return empty
}

// stay waits, when all is done, for the signal that ends a quiet worker, or until the queues are empty where that
// does: whoever supervises it would start another one, which would claim.
func (s *shift) stay(empty <-chan error) error {
	for {
		select {
		case s.left = <-empty:
			return nil
		case <-s.asked:
			return nil
		case sig := <-s.signals:
			if !slices.Contains(quietSignals, sig) {
				return nil
			}
		}
	}
}

// signal does what a signal asks for. The error ends the program at once.
func (s *shift) signal(sig os.Signal) error {
	switch {
	case slices.Contains(quietSignals, sig):
		s.stopClaims()
		s.quiet = true
		s.log.Info("quiet: no more claims", slog.String(keySignal, sig.String()))
	case s.told:
		s.log.Warn("stopped at once: leases bring the jobs back", slog.String(keySignal, sig.String()))
		s.tellJobs()
		s.kill()
		return errAtOnce
	default:
		s.told = true
		s.stop(sig)
	}
	return nil
}

// stop begins the grace, once: a signal after an operator's wish does not prolong it. sig nil: such a wish.
func (s *shift) stop(sig os.Signal) {
	by := "an operator"
	if sig != nil {
		by = sig.String()
	}
	if s.stopping {
		s.log.Info("stopping already", slog.String(keySignal, by))
		return
	}
	s.stopping = true
	s.stopClaims()
	s.over = time.After(s.grace)
	s.log.Info("stopping: no more claims", slog.String(keySignal, by), slog.Duration(keyGrace, s.grace))
}

// endJobs ends the grace.
func (s *shift) endJobs() {
	if s.enough != nil {
		return
	}
	s.log.Warn("grace is over: jobs are told to end and given back")
	s.tellJobs()
	s.over, s.enough = nil, time.After(stopTime)
}

// tellJobs makes jobs end, from now on by the worker's will. A second time it does nothing.
func (s *shift) tellJobs() {
	select {
	case <-s.ending:
	default:
		close(s.ending)
	}
}
