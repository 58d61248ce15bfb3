package main

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
)

// Keys of log attributes.
const (
	keyJob     = "job"
	keyJobs    = "jobs"
	keyKinds   = "kinds"
	keyQueues  = "queues"
	keyLease   = "lease"
	keyGrace   = "grace"
	keyCommand = "command"
	keySignal  = "signal"
	keyError   = "error"

	keyScheduled = "scheduled"
	keyRetry     = "retry"
	keyParked    = "parked"
	keySpilled   = "spilled"
)

// workFlags are what `waybill work` is told.
type workFlags struct {
	queues                        queuesFlag
	kinds                         kindsFlag
	concurrency                   int
	lease, timeout, grace, snooze durationFlag
	maxFailures                   failuresFlag
	untilEmpty, exec              bool
	logLevel                      levelFlag
}

func (a *app) workCommand() *cobra.Command {
	f := &workFlags{
		concurrency: runtime.NumCPU(), lease: durationFlag(waybill.DefaultLease),
		grace: durationFlag(waybill.DefaultGrace), snooze: durationFlag(time.Minute),
	}
	cmd := &cobra.Command{
		Use:   "work --queue NAME[=N]… [flags] --exec COMMAND [ARGUMENT…]",
		Short: "Work off jobs, each by a process of its own",
		Long:  workHelp,
		Example: `  waybill work --queue mail --exec python3 -u send.py
  waybill work --queue mail=8 --queue reports=1 --timeout 5m --exec ./job.sh`,
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.work(cmd, f) },
	}
	f.define(cmd)
	return cmd
}

func (f *workFlags) define(cmd *cobra.Command) {
	v := cmd.Flags()
	v.Var(&f.queues, "queue", "work off this queue, N commands at a time; repeatable")
	v.Var(&f.kinds, "kind", "take only jobs of this kind; repeatable (default: every kind)")
	v.IntVar(&f.concurrency, "concurrency", f.concurrency, "commands at a time in each queue (default: CPUs)")
	v.Var(&f.lease, "lease", "how long a job stays ours without a sign of life, from 100ms to 1h")
	v.Var(&f.timeout, "timeout", "of one attempt (default: none)")
	v.Var(&f.grace, "grace", "how long commands may go on after TERM or INT")
	v.Var(&f.snooze, "snooze", "how long status 75 puts a job off")
	v.Var(&f.maxFailures, "max-failures", "the failure that kills a job that says nothing itself (default 25)")
	v.BoolVar(&f.untilEmpty, "until-empty", false, "end when nothing is ready or active")
	v.Var(&f.logLevel, "log-level", "log what is at least so important")
	v.BoolVar(&f.exec, "exec", false, "the command follows, to the end of the line")
	cmd.Flags().Lookup("concurrency").DefValue = "0"
	quietDefaults(cmd, "timeout", "max-failures")
}

func (f *workFlags) check(cmd *cobra.Command, command []string) error {
	switch {
	case len(f.queues) == 0:
		return usage(cmd, "no queue: give --queue NAME")
	case !f.exec:
		return usage(cmd, "nothing to run: give --exec COMMAND")
	case len(command) == 0 || command[0] == "":
		return usage(cmd, "--exec: the command is missing")
	case f.concurrency < 1:
		return usage(cmd, "--concurrency is %d: from 1 on", f.concurrency)
	case f.lease == 0:
		return usage(cmd, "--lease is 0: from 100ms on")
	}
	return checkCommand(cmd, command[0])
}

func (a *app) work(cmd *cobra.Command, f *workFlags) error {
	if err := f.check(cmd, a.argv); err != nil {
		return err
	}
	c, err := a.connect(len(f.queues))
	if err != nil {
		return err
	}
	defer c.Close()
	log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.Level(f.logLevel)}))
	run := &commands{
		argv: a.argv, env: a.env, snooze: time.Duration(f.snooze), stderr: a.stderr, starts: starts{log: log}, ending: make(chan struct{}),
	}
	// The grace is kept here, and not by the worker, so that a quiet one (TSTP) has none.
	w, err := waybill.NewWorker(c.Client, waybill.WorkerOptions{
		Queues: f.each(), Lease: time.Duration(f.lease), Grace: math.MaxInt64, Logger: log,
	})
	if err != nil {
		return err
	}
	f.handle(w, run)
	s := &shift{
		run: w.Run, commands: run, log: log, grace: time.Duration(f.grace), signals: make(chan os.Signal, 4),
	}
	if f.untilEmpty {
		s.empty = func(ctx context.Context) bool { return untilEmpty(ctx, c.Client, f.queues, log) }
	}
	log.Info("worker started", slog.String(keyQueues, f.queues.text(f.concurrency)), slog.String(keyKinds, f.kinds.text()),
		slog.Duration(keyLease, time.Duration(f.lease)), slog.String(keyCommand, strings.Join(a.argv, " ")))
	if err = s.work(cmd.Context()); err == nil {
		log.Info("worker stopped")
	}
	return err
}

// each gives the queues, each with its own bound: that of --concurrency is a queue's, not the worker's.
func (f *workFlags) each() []waybill.QueueOptions {
	queues := slices.Clone(f.queues)
	for i := range queues {
		queues[i].Concurrency = cmp.Or(queues[i].Concurrency, f.concurrency)
	}
	return queues
}

// handle makes the worker run the kinds that were asked for.
func (f *workFlags) handle(w *waybill.Worker, run *commands) {
	kinds := f.kinds
	if len(kinds) == 0 {
		kinds = kindsFlag{waybill.AnyKind}
	}
	for _, kind := range kinds {
		w.HandleFunc(kind, waybill.KindOptions{
			MaxFailures: int(f.maxFailures.n), Timeout: time.Duration(f.timeout),
		}, run.handle)
	}
}
