package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Keys of a relay's log attributes.
const (
	keyOutbox  = "outbox"
	keyDialect = "dialect"
	keyPoll    = "poll"
	keyRead    = "read"
	keySent    = "sent"
	keyEnded   = "ended"
	keyNew     = "new"
	keyUnread  = "unread"
)

// errRelayAtOnce: a second signal ended a relay.
var errRelayAtOnce = errors.New("stopped at once: what was sent and not marked is sent again, which adds nothing")

// relayRun is a relay's life, until a signal, or until there is nothing to do.
type relayRun struct {
	relay func(context.Context) error
	empty func(context.Context) error // waits until there is nothing to do; nil = that ends nothing
	log   *slog.Logger
	tally *carriage
}

// run runs the relay, and logs what it carried so often; 0 = never.
func (r *relayRun) run(ctx context.Context, progress time.Duration) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE) // who reads our stderr may go: a failed write, not the end of the relay
	defer signal.Stop(pipe)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended, empty := make(chan error, 1), make(chan error, 1)
	go func() { ended <- r.relay(ctx) }()
	var looks sync.WaitGroup
	if r.empty != nil {
		looks.Go(func() { empty <- r.empty(ctx) })
	}
	tick, done := every(progress)
	defer done()
	var why error // of an end without a signal
	for stopping := false; ; {
		select {
		case err := <-ended:
			stop()
			looks.Wait()
			return errors.Join(err, why)
		case why = <-empty:
			stop()
		case sig := <-signals:
			if stopping {
				return errRelayAtOnce
			}
			stopping = true
			r.log.Info("stopping: what was sent is marked", slog.String(keySignal, sig.String()))
			stop()
		case <-tick:
			r.tally.progress(r.log)
		}
	}
}

// every ticks; d 0 = never.
func every(d time.Duration) (tick <-chan time.Time, stop func()) {
	if d <= 0 {
		return nil, func() {}
	}
	t := time.NewTicker(d)
	return t.C, t.Stop
}
