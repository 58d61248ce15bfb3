package main

import (
	"errors"
	"io"
	"log/slog"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/cmd/waybill/internal/process"
)

// workFlags are what `waybill work` is told.
type workFlags struct {
	queues                               queuesFlag
	subscriptions                        subscriptionsFlag
	from                                 placeFlag // of subscriptions that are not there yet
	kinds                                kindsFlag
	concurrency                          int // 0 = as the mode has it
	lease, timeout, grace, snooze, ready durationFlag
	maxFailures                          failuresFlag
	untilEmpty, exec, pipe               bool
	http                                 httpFlags
	health                               string
	logFormat                            formatFlag
	logLevel                             levelFlag
}

func (f *workFlags) define(cmd *cobra.Command) {
	v := cmd.Flags()
	v.Var(&f.queues, "queue", "work off this queue, N jobs at a time; repeatable")
	v.Var(&f.subscriptions, "subscribe", "make this subscription, TOPIC/NAME, if it is not there, and work it off, N jobs at a time; repeatable")
	v.Var(&f.from, "from", "where subscriptions begin that are not there yet (default: beginning)")
	v.Var(&f.kinds, "kind", "take only jobs of this kind; repeatable (default: every kind)")
	v.IntVar(&f.concurrency, "concurrency", 0,
		"jobs at a time in each queue and subscription that says no N: processes with --exec and --pipe (default: CPUs), requests with --http (default: 10)")
	v.Var(&f.lease, "lease", "how long a job stays ours without a sign of life, from 100ms to 1h (default: the queue's, 30s unless set)")
	v.Var(&f.timeout, "timeout", "of one attempt (default: none)")
	v.Var(&f.grace, "grace", "how long jobs may go on after TERM or INT")
	v.Var(&f.snooze, "snooze", "how long a job is put off where nothing else is said: status 75 of --exec, snooze without delay_ms of --pipe")
	v.Var(&f.ready, "ready-timeout", "of --pipe: how long a child may take until it is ready")
	v.Var(&f.maxFailures, "max-failures", "the failure that kills a job that says nothing itself (default 25)")
	v.BoolVar(&f.untilEmpty, "until-empty", false, "end when nothing is ready or active, and subscriptions have taken all events; status 4 if they can't")
	v.StringVar(&f.health, "health", "", "serve GET /healthz on this `ADDR`, as in 127.0.0.1:8080")
	v.Var(&f.logFormat, "log-format", "how logs are written")
	v.Var(&f.logLevel, "log-level", "log what is at least so important")
	v.BoolVar(&f.exec, "exec", false, "a process a job: the command follows, to the end of the line")
	v.BoolVar(&f.pipe, "pipe", false, "processes that live on: the command follows, to the end of the line")
	f.http.define(v)
	quietDefaults(cmd, "lease", "timeout", "max-failures")
	completePlaces(cmd, "from")
}

// slots is how many jobs a queue has at a time that says nothing itself.
func (f *workFlags) slots() int {
	switch {
	case f.concurrency > 0:
		return f.concurrency
	case f.http.url != "":
		return waybill.DefaultConcurrency
	}
	return runtime.NumCPU()
}

func (f *workFlags) check(cmd *cobra.Command, command []string) error {
	runs := f.exec || f.pipe
	switch {
	case len(f.queues)+len(f.subscriptions.queuesFlag) == 0:
		return usage(cmd, "no queue: give --queue NAME, or --subscribe TOPIC/NAME")
	case f.from.given() && len(f.subscriptions.queuesFlag) == 0:
		return usage(cmd, "--from goes with --subscribe TOPIC/NAME")
	case runs && f.http.url != "":
		return usage(cmd, "--http excludes --exec and --pipe: give one")
	case !runs && f.http.url == "":
		return usage(cmd, "nothing to run: give --exec COMMAND, --pipe COMMAND or --http URL")
	case runs && (len(command) == 0 || command[0] == ""):
		return usage(cmd, "--exec or --pipe: the command is missing")
	case cmd.Flags().Changed("concurrency") && f.concurrency < 1:
		return usage(cmd, "--concurrency is %d: from 1 on", f.concurrency)
	case cmd.Flags().Changed("lease") && f.lease == 0:
		return usage(cmd, "--lease is 0: from 100ms on")
	case f.ready == 0:
		return usage(cmd, "--ready-timeout is 0: above 0")
	}
	if !runs {
		return f.http.check(cmd)
	}
	if err := process.CheckProgram(command[0]); err != nil {
		return usage(cmd, "command %s: %v", command[0], err)
	}
	return nil
}

// formatFlag is how logs are written.
type formatFlag string

const (
	formatText formatFlag = "text"
	formatJSON formatFlag = "json"
)

func (l *formatFlag) String() string { return string(*l) }
func (l *formatFlag) Type() string   { return "text|json" }

func (l *formatFlag) Set(s string) error {
	*l = formatFlag(s)
	if *l != formatText && *l != formatJSON {
		return errors.New("want text or json")
	}
	return nil
}

// newLogger makes a logger.
func newLogger(to io.Writer, format formatFlag, level levelFlag) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.Level(level)}
	if format == formatJSON {
		o.ReplaceAttr = spelledOut
		return slog.New(slog.NewJSONHandler(to, o))
	}
	return slog.New(slog.NewTextHandler(to, o))
}

// spelledOut writes durations as the other format does, "1m30s": in JSON they would be numbers of nanoseconds.
func spelledOut(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}
