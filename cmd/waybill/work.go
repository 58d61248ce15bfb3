package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/topic"
)

// Keys of log attributes.
const (
	keyAddr    = "addr"
	keyJobs    = "jobs"
	keyKinds   = "kinds"
	keyQueues  = "queues"
	keyGrace   = "grace"
	keyCommand = "command"
	keySignal  = "signal"
	keyError   = "error"
	keyJob     = "job"

	keyScheduled = "scheduled"
	keyRetry     = "retry"
	keyParked    = "parked"
	keySpilled   = "spilled"
	keyLag       = "lag"
)

func (a *app) workCommand() *cobra.Command {
	f := &workFlags{
		grace: durationFlag(waybill.DefaultGrace), snooze: durationFlag(time.Minute),
		ready: durationFlag(30 * time.Second), http: httpFlags{timeout: durationFlag(30 * time.Second)}, logFormat: formatText,
	}
	cmd := &cobra.Command{
		Use:   "work (--queue NAME[=N] | --subscribe TOPIC/NAME[=N])… [flags] (--exec|--pipe) COMMAND [ARGUMENT…], or --http URL",
		Short: "Work off jobs, by commands or by HTTP",
		Long:  workHelp,
		Example: `  waybill work --queue mail --exec python3 -u send.py
  waybill work --queue mail=8 --queue reports=1 --timeout 5m --exec ./job.sh
  waybill work --queue score=2 --health :8080 --pipe python3 model.py
  waybill work --subscribe orders/billing=4 --exec ./bill.sh
  waybill work --queue hooks --http-secret-file ./secret --http https://example.com/hook`,
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.work(cmd, f) },
	}
	f.define(cmd)
	for flag, complete := range map[string]cobra.CompletionFunc{"queue": a.completeQueues, "subscribe": a.completeSubscriptions} {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return cmd
}

func (a *app) work(cmd *cobra.Command, f *workFlags) (err error) {
	if err := f.check(cmd, a.argv); err != nil {
		return err
	}
	log := newLogger(a.stderr, f.logFormat, f.logLevel)
	ending := make(chan struct{})
	crew, err := a.crew(cmd, f, log, ending)
	if err != nil {
		return err
	}
	defer crew.close()
	c, err := a.connect(len(f.each()))
	if err != nil {
		return err
	}
	defer c.Close()
	pulse, err := f.newPulse(cmd, c.Client, crew.unable)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pulse.close()) }()
	s := &shift{
		rest: pulse.rest, kill: crew.kill, ending: ending, log: log, grace: time.Duration(f.grace),
		signals: make(chan os.Signal, 4), asked: make(chan struct{}, 1),
	}
	// The grace is kept here, and not by the worker, so that a quiet one (TSTP) has none.
	w, err := waybill.NewWorker(c.Client, waybill.WorkerOptions{
		Queues: f.each(), Lease: time.Duration(f.lease), Grace: math.MaxInt64, Logger: log,
		Observe: func(e waybill.Event) {
			pulse.observe(e)
			s.observe(e)
		},
	})
	if err != nil {
		return err
	}
	f.handle(w, crew)
	s.run = func(ctx context.Context) error { return crew.run(ctx, w.Run) }
	if f.untilEmpty {
		s.empty = func(ctx context.Context) (bool, error) { return untilEmpty(ctx, c.Client, f.each(), log) }
	}
	log.Info("worker started", slog.String(keyQueues, queuesFlag(f.each()).text(0)), slog.String(keyKinds, f.kinds.text()),
		slog.String(keyCommand, crew.name))
	pulse.start(w, log)
	if err = s.work(cmd.Context()); err == nil {
		log.Info("worker stopped")
		err = s.left
	}
	return err
}

// each gives the queues, those of subscriptions among them, each with its own bound: that of --concurrency is a queue's,
// not the worker's.
func (f *workFlags) each() []waybill.QueueOptions {
	queues := slices.Clone(f.queues)
	for _, s := range f.subscriptions.queuesFlag {
		s.Subscribe = string(cmp.Or(f.from.from(time.Now()), topic.Beginning))
		queues = append(queues, s)
	}
	for i := range queues {
		queues[i].Concurrency = cmp.Or(queues[i].Concurrency, f.slots())
	}
	return queues
}

// handle makes the worker run the kinds that were asked for.
func (f *workFlags) handle(w *waybill.Worker, crew *crew) {
	kinds := f.kinds
	if len(kinds) == 0 {
		kinds = kindsFlag{waybill.AnyKind}
	}
	timeout := time.Duration(f.timeout)
	if crew.timed {
		timeout = 0
	}
	for _, kind := range kinds {
		w.HandleFunc(kind, waybill.KindOptions{
			MaxFailures: int(f.maxFailures.n), Timeout: timeout, Retry: crew.retry,
		}, crew.handle)
	}
}
