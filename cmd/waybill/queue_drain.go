package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
)

// drainEvery is how often a queue that drains is looked at.
const drainEvery = 250 * time.Millisecond

// drainTell is how often it is told how far it is, where no terminal shows it.
const drainTell = 10 * time.Second

func (a *app) queueDrainCommand() *cobra.Command {
	var timeout spanFlag
	cmd := &cobra.Command{
		Use: "drain QUEUE", Short: "Wait until no live job is left", Args: between(1, 1),
		Long: `Drain waits until no job of a queue is live: none ready, scheduled, to be tried again, parked, spilled or active.
It changes nothing: workers do the jobs, and whoever sends more makes it take longer. Events that a subscription has not
taken yet are no jobs of its queue: topic stats tells them.

Exit status: 0 no job is live, 8 some were when --timeout passed.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onQueue(cmd, args[0], func(ctx context.Context, q *waybill.Queue) error {
				return a.drain(ctx, q, time.Duration(timeout))
			})
		},
		ValidArgsFunction: a.completeQueue,
	}
	cmd.Flags().Var(&timeout, "timeout", "wait no longer than that (default: for ever)")
	return cmd
}

// leastLook is how long the answer to a look is waited for also where --timeout is less.
const leastLook = time.Second

// drain waits until no job is live, for some time at most; 0 = for ever.
func (a *app) drain(ctx context.Context, q *waybill.Queue, limit time.Duration) error {
	var over <-chan time.Time
	limited := ctx
	if limit > 0 {
		over = time.After(limit)
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, max(limit, leastLook))
		defer cancel()
	}
	look := time.NewTicker(drainEvery)
	defer look.Stop()
	line, told := a.liveLine(), time.Now()
	defer line.clear()
	for {
		s, err := q.Stats(limited)
		if err != nil && limited.Err() != nil {
			err = fmt.Errorf("%w: Redis did not tell within %s how the queue stands", errDrainOver, limit)
		}
		if err == nil && s.Live() > 0 {
			line.show(func() string { return drainLine(s) })
			if time.Since(told) >= drainTell && !isTerminal(a.stderr) {
				told = time.Now()
				a.say("queue %s has %s", s.Queue, drainLine(s))
			}
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case <-over:
				err = fmt.Errorf("%w: after %s queue %s has %s", errDrainOver, limit, s.Queue, drainLine(s))
			case <-look.C:
				continue
			}
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: nothing was changed", errInterrupted)
		}
		line.clear()
		return a.drained(s, err)
	}
}

// errDrainOver: jobs were live when the time to wait was over.
var errDrainOver = errors.New("not drained")

// drained tells how a wait for the end of all jobs ended.
func (a *app) drained(s waybill.QueueStats, err error) error {
	switch {
	case a.json && s.Queue != "" && (err == nil || errors.Is(err, errDrainOver)):
		return a.object(s, err)
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "queue %s has no live job\n", s.Queue)
	return err
}

// drainLine tells what is live.
func drainLine(s waybill.QueueStats) string {
	text := grouped(s.Live(), "live job")
	for _, part := range []struct {
		n    int64
		word waybill.State
	}{
		{s.Ready, waybill.StateReady},
		{s.Active, waybill.StateActive},
		{s.Scheduled, waybill.StateScheduled},
		{s.Retry, waybill.StateRetry},
		{s.Parked, waybill.StateParked},
		{s.Spilled, waybill.StateSpilled},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(", %s %s", thousands(part.n), part.word)
		}
	}
	if s.PausedBy != "" {
		text += "; paused by " + oneLine(s.PausedBy)
	}
	return text
}
