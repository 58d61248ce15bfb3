package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/outbox"
)

// lookTime bounds the questions to Redis of a status.
const lookTime = 5 * time.Second

// outboxStatusFlags are what `waybill outbox status` is told.
type outboxStatusFlags struct {
	statsFlags
	check, strict bool
}

func (a *app) outboxStatusCommand(f *databaseFlags) *cobra.Command {
	s := &outboxStatusFlags{statsFlags: statsFlags{interval: spanFlag(watchEvery)}}
	cmd := &cobra.Command{
		Use: "status", Short: "Show how the outbox stands, and whether Redis lost data", Args: between(0, 0),
		Long: `Status prints a line for each queue:
  NEW            rows that are not sent yet, and how old the oldest is
  SENT           rows whose jobs are in the queue         DEAD      rows of dead jobs
  ENDED          rows of jobs that were acked, cancelled or deleted: a relay purges them
  ASIDE          rows that can't be sent: outbox list
  UNREAD         words of the queue's on what became of jobs that no relay has read, and how old the oldest is
  READ AGO       since a relay last read them
Of a topic (topic:NAME) SENT are events that were published: a relay purges them. It warns of what is not as it should be; outbox --help says what to do. It asks Redis itself whether it lost data, also
where no relay runs. Where Redis is away the figures of the database are shown. It counts all rows: with millions that
takes seconds.

With --check it prints a line for each thing it looked at, ok, warn or bad, for monitors. With --strict besides it fails on
what is warn too: rows that wait for long or were set aside, relays that do not read, strangers. --watch as in queue stats.

Exit status: 1 where Redis lost data, with --strict also on a warning; with --check 5 where Redis did not say.`,
		Example: "  waybill outbox status --database sqlite:app.db\n  waybill outbox status --check --strict || page somebody",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.watch = s.watch || cmd.Flags().Changed("interval")
			if s.watch && s.check {
				return usage(cmd, "--watch and --check exclude each other: give one")
			}
			if s.strict && !s.check {
				return usage(cmd, "--strict goes with --check")
			}
			return a.onOutboxAndRedis(cmd, f, func(ctx context.Context, box *outbox.Outbox, c connection) error {
				return a.outboxStatus(ctx, box, c, s)
			})
		},
	}
	v := cmd.Flags()
	v.BoolVar(&s.check, "check", false, "print what was looked at, ok, warn or bad")
	v.BoolVar(&s.strict, "strict", false, "with --check: fail on a warning too")
	v.BoolVar(&s.watch, "watch", false, "show it again and again")
	v.Var(&s.interval, "interval", "show it again so often (default 2s; with this --watch goes without saying)")
	quietDefaults(cmd, "interval")
	return cmd
}

// outboxState is how an outbox stands, by its database and by Redis.
type outboxState struct {
	outbox.Stats
	seen map[string]outbox.Seen // by queue; those of which Redis told
	away error                  // why it did not tell of the others
}

// readOutbox reads it. The error is the database's.
func readOutbox(ctx context.Context, box *outbox.Outbox, c connection) (outboxState, error) {
	s := outboxState{seen: map[string]outbox.Seen{}}
	var err error
	if s.Stats, err = box.Stats(ctx); err != nil {
		return s, err
	}
	short, stop := context.WithTimeout(ctx, lookTime)
	defer stop()
	all, err := box.Look(short, c.Client)
	for _, seen := range all {
		s.seen[seen.Queue] = seen
	}
	if s.away = err; ctx.Err() != nil {
		return s, context.Cause(ctx)
	}
	return s, nil
}

func (a *app) outboxStatus(ctx context.Context, box *outbox.Outbox, c connection, f *outboxStatusFlags) error {
	if f.watch {
		return a.watch(ctx, time.Duration(f.interval), func() (string, error) {
			s, err := readOutbox(ctx, box, c)
			if err != nil {
				return "", err
			}
			text, err := a.outboxText(s)
			if found := notOK(s.check()); err == nil && len(found) > 0 && !a.json {
				text += "\n" + a.rowsText(findingRows(found))
			}
			return text, err
		})
	}
	s, err := readOutbox(ctx, box, c)
	if err != nil {
		return err
	}
	found := s.check()
	if f.check {
		err = a.printOutboxFindings(found)
	} else {
		err = a.printOutboxState(s, notOK(found))
	}
	switch {
	case err != nil:
		return err
	case s.anyLost():
		return told(exitOther)
	case f.check && s.away != nil:
		return told(exitUnavailable)
	case f.strict && len(notOK(found)) > 0:
		return told(exitOther)
	}
	return nil
}

// printOutboxState prints a line a queue, and warns of the rest.
func (a *app) printOutboxState(s outboxState, found []outboxFinding) error {
	if len(s.Queues) == 0 {
		a.say("nothing was entered into this outbox yet, or all is purged")
	}
	text, err := a.outboxText(s)
	if err == nil {
		_, err = io.WriteString(a.stdout, text)
	}
	for _, f := range found {
		text := f.text()
		if f.queue != "" {
			text = addressTitle(f.queue) + ": " + text
		}
		a.say("%s", a.paint(a.stderr, levelColour(f.level), "warning: "+oneLine(text)))
	}
	return err
}

// outboxText is a line, or with --json an object, for each queue.
func (a *app) outboxText(s outboxState) (string, error) {
	if a.json {
		var b strings.Builder
		var all error
		for _, q := range s.Queues {
			all = errors.Join(all, printJSON(&b, s.object(q)))
		}
		return b.String(), all
	}
	if len(s.Queues) == 0 {
		return "", nil
	}
	rows := [][]cell{heads("QUEUE", "NEW", "OLDEST NEW", "SENT", "DEAD", "ENDED", "ASIDE", "UNREAD", "OLDEST UNREAD", "READ AGO")}
	for _, q := range s.Queues {
		unread, oldest := s.unread(q)
		row := []cell{
			{text: q.Queue},
			number(q.New, ""),
			{text: s.ago(q.Oldest)},
			number(q.Sent, ""), number(q.Dead, red), number(q.Ended, ""),
			number(q.SetAside, yellow), number(unread, ""),
			{text: s.ago(oldest)},
			{text: s.ago(q.ReadAt)},
		}
		if lost, _ := s.lost(q); lost {
			row = append(row, cell{"redis lost data", red})
		}
		rows = append(rows, row)
	}
	return a.rowsText(rows), nil
}
