package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/outbox/pgxoutbox"
)

const outboxRelayHelp = `Relay carries the rows of the outbox to Redis, and back what became of the jobs, until it gets TERM or INT; then it marks
what was sent, and ends. A second signal ends it at once: what was sent and not marked is sent again, which adds nothing.
Any number of relays may run, here and in programs. Run at least one for each database, under whatever keeps it running.

A database or a Redis that goes away is waited for: a failure that goes on is logged once a minute, and its end. Only a
database that is not there at the start ends it, with status 5. Where Redis lost data of a queue nothing is sent there until
outbox replay.
Logs go to stderr: rows that were set aside (outbox list), a queue that is full, one that lost data, failures, and once in
--progress what was carried. --log-level debug has each failure.

It looks for new rows every --poll. With --listen it also looks at once when a transaction commits whose producer set
Options.Notify, on PostgreSQL; the URL must then lead to the server itself, not to a proxy that pools by transactions.

--until-empty ends it when no row is to be sent, and every queue's words on ended jobs are read: for cron. Rows that were set
aside are not waited for; those of a full queue are. With --timeout it ends then at the latest, when the round under way is
over, and says what is left.

Exit status: 0 after a signal; with --until-empty 4 where Redis lost data of a queue, 8 where --timeout passed and something
is left.`

// relayFlags are what `waybill outbox relay` is told.
type relayFlags struct {
	poll, read, progress durationFlag
	keep                 ageFlag
	listen, untilEmpty   bool
	timeout              spanFlag // of untilEmpty; 0 = none
	logFormat            formatFlag
	logLevel             levelFlag
}

func (a *app) outboxRelayCommand(f *databaseFlags) *cobra.Command {
	r := &relayFlags{
		poll: durationFlag(outbox.DefaultPoll), read: durationFlag(outbox.DefaultRead), progress: durationFlag(time.Minute),
		logFormat: formatText,
	}
	cmd := &cobra.Command{
		Use: "relay", Short: "Carry rows to Redis, and back what became of their jobs", Args: between(0, 0), Long: outboxRelayHelp,
		Example: "  waybill outbox relay --database-file /etc/waybill/database\n  waybill outbox relay --until-empty --timeout 5m",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.outboxRelay(cmd, f, r) },
	}
	v := cmd.Flags()
	v.Var(&r.poll, "poll", "how often it looks for new rows, from 5ms to 1m")
	v.Var(&r.read, "read", "how often it reads what became of jobs, from 10ms to 1m")
	v.Var(&r.keep, "keep", "how long rows stay after their jobs ended (default 7d)")
	v.Var(&r.progress, "progress", "log what was carried so often, where there was anything; 0 = never")
	v.BoolVar(&r.listen, "listen", false, "look at once when a commit rings (Options.Notify; PostgreSQL only)")
	v.BoolVar(&r.untilEmpty, "until-empty", false, "end when no row is to be sent, and all words are read")
	v.Var(&r.timeout, "timeout", "with --until-empty: wait no longer than that (default: for ever)")
	v.Var(&r.logFormat, "log-format", "how logs are written")
	v.Var(&r.logLevel, "log-level", "log what is at least so important")
	return cmd
}

// options checks what package outbox does not, and gives its options; zero values are not defaults here.
func (r *relayFlags) options(cmd *cobra.Command, f *databaseFlags) (outbox.Options, error) {
	o := f.outboxOptions()
	o.Poll, o.Read = time.Duration(r.poll), time.Duration(r.read)
	switch {
	case r.timeout != 0 && !r.untilEmpty:
		return o, usage(cmd, "--timeout goes with --until-empty")
	case o.Poll == 0:
		return o, usage(cmd, "--poll is 0: from 5ms to 1m")
	case o.Read == 0:
		return o, usage(cmd, "--read is 0: from 10ms to 1m")
	case r.keep.given && r.keep.d == waybill.Unlimited:
		o.Keep = -1
	case r.keep.given && r.keep.d < time.Second:
		return o, usage(cmd, "--keep is %s: at least 1s, or unlimited", r.keep.d)
	default:
		o.Keep = cmp.Or(r.keep.d, outbox.DefaultKeep)
	}
	return o, nil
}

func (a *app) outboxRelay(cmd *cobra.Command, f *databaseFlags, r *relayFlags) error {
	o, err := r.options(cmd, f)
	if err != nil {
		return err
	}
	log, t := newLogger(a.stderr, r.logFormat, r.logLevel), &carriage{}
	o.Log, o.Observe = log, t.observe
	db, d, err := a.openExisting(cmd, f)
	if err != nil {
		return err
	}
	defer db.Close()
	if r.listen && d != outbox.PostgreSQL {
		return &usageError{fmt.Sprintf("--listen: %s has nothing to listen to, only PostgreSQL has: leave it out", d)}
	}
	box, err := outbox.New(db, d, o)
	if err != nil {
		return err
	}
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	name, err := box.Name(cmd.Context())
	if err != nil {
		return err
	}
	log.Info("relay started", slog.String(keyOutbox, name), slog.String(keyDialect, string(d)), slog.Duration(keyPoll, o.Poll),
		slog.Duration(keyRead, o.Read))
	run := &relayRun{log: log, tally: t, relay: func(ctx context.Context) error { return box.Relay(ctx, c.Client) }}
	if r.listen {
		if run.relay, err = a.listening(f, box, run); err != nil {
			return err
		}
	}
	if r.untilEmpty {
		wait := &emptyWait{box: box, c: c, log: log, limit: time.Duration(r.timeout)}
		run.empty = wait.run
	}
	if err = run.run(cmd.Context(), time.Duration(r.progress)); err == nil {
		log.Info("relay stopped", t.total()...)
	}
	return err
}

// listening is a relay that also listens.
func (a *app) listening(f *databaseFlags, box *outbox.Outbox, run *relayRun) (func(context.Context) error, error) {
	url, err := a.databaseURL(f)
	if err != nil {
		return nil, err
	}
	relay := run.relay
	return func(ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		deaf := func(err error) {
			run.log.Warn("relay hears no commits for now, it polls", slog.String(keyError, err.Error()))
		}
		ended := make(chan error, 1)
		go func() { ended <- pgxoutbox.Listen(ctx, url, box, deaf) }()
		err := relay(ctx)
		stop()
		return errors.Join(err, <-ended)
	}, nil
}
