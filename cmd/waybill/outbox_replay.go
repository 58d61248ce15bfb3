package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/outbox"
)

// outboxReplay is what `waybill outbox replay` is told.
type outboxReplay struct {
	bulkFlags
	queues []string
}

func (a *app) outboxReplayCommand(f *databaseFlags) *cobra.Command {
	r := &outboxReplay{}
	cmd := &cobra.Command{
		Use: "replay", Short: "Bring a Redis that lost data to what the database knows", Args: between(0, 0),
		Long: `Replay is for a Redis that came back empty, or from an older copy. For each queue of which Redis lost data, or for those of
--queue, lost or not, it
  1. pauses the queue
  2. deletes jobs that wait there, or are dead, though they have ended, and cancels those that run
  3. sends all unfinished jobs under their IDs, and puts back the dead ones; those that are there are left alone
  4. lets the relays send again, and resumes the queue, unless somebody else had paused it
First it tells what it would do, and asks; without a terminal give --yes. It may be broken off: the same command goes on.

What comes before: settings of the queue are lost with its Redis, a capacity too: queue set. Where the queue is full jobs are
spilled.
What may return: jobs that were acked, cancelled or deleted just before the loss, when no relay had read of it yet (its --read,
1s unless set; longer where none ran). Receipts keep their effects single. Jobs that were not enqueued by this outbox are
not known to it, and a job that was moved to another queue is not brought back.

A topic (topic:NAME) has no jobs of its own: all its events that have rows yet are published again, under their IDs. Make all
its subscriptions first (start their workers), and set its capacity: what is made later misses events. What subscriptions have
done before the loss they are given again; receipts keep effects single. A topic that lost nothing is left alone.

Where nothing is lost and nothing is named it says so and does nothing.`,
		Example: "  waybill outbox replay --dry-run\n  waybill outbox replay --queue mail --queue invoices",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkAddresses(r.queues); err != nil {
				return err
			}
			if err := a.checkConfirm(cmd, r.bulkFlags); err != nil {
				return err
			}
			return a.onOutboxAndRedis(cmd, f, func(ctx context.Context, box *outbox.Outbox, c connection) error {
				return a.outboxReplay(ctx, box, c, r)
			})
		},
	}
	cmd.Flags().StringArrayVar(&r.queues, "queue", nil, "this `QUEUE`, lost or not; repeatable (default: those of which Redis lost data)")
	if err := cmd.RegisterFlagCompletionFunc("queue", a.completeQueues); err != nil {
		panic(err) // the flag is there
	}
	r.define(cmd)
	return cmd
}

func (a *app) outboxReplay(ctx context.Context, box *outbox.Outbox, c connection, r *outboxReplay) error {
	o := outbox.ReplayOptions{Queues: slices.Clone(r.queues)}
	if len(o.Queues) == 0 {
		lost, err := lostQueues(ctx, box, c)
		if err != nil {
			return err
		}
		if o.Queues = lost; len(lost) == 0 {
			a.say("nothing was lost")
			return nil
		}
	}
	a.say("set the queues' settings first, a capacity too: they are lost with their Redis (queue set)")
	if slices.ContainsFunc(o.Queues, isTopicAddress) {
		a.say("make all subscriptions of the topics first: one that is made later misses events; all that have rows yet are published again")
	}
	a.say("what was acked, cancelled or deleted just before the loss, and not yet read by a relay (its --read, 1s unless set), may return")
	if r.dryRun || !r.yes {
		all, err := a.replay(ctx, box, c, o, true)
		if err != nil || r.dryRun {
			return a.printReplayed(all, true, err)
		}
		if !a.json {
			if err := a.printReplayed(all, true, nil); err != nil {
				return err
			}
		}
		if err := a.ask(ctx, replayQuestion(all)); err != nil {
			return err
		}
	}
	all, err := a.replay(ctx, box, c, o, false)
	return a.printReplayed(all, false, err)
}

// lostQueues are the queues of which Redis lost data, noticed by a relay or not.
func lostQueues(ctx context.Context, box *outbox.Outbox, c connection) (names []string, err error) {
	seen, err := box.Look(ctx, c.Client)
	for _, s := range seen {
		if s.Lost != "" {
			names = append(names, s.Queue)
		}
	}
	return names, err
}

func replayQuestion(all []outbox.Replayed) string {
	var sum outbox.Replayed
	for _, q := range all {
		sum.Buried += q.Buried + q.Cancelled
		sum.Sent += q.Sent + q.Dead
	}
	sent := "job"
	if slices.ContainsFunc(all, func(q outbox.Replayed) bool { return isTopicAddress(q.Queue) }) {
		sent = "job or event"
	}
	return fmt.Sprintf("Replay %s: send %s, delete or cancel %s that had ended?", count(len(all), "queue"), grouped(sum.Sent, sent), grouped(sum.Buried, "job"))
}

// replay replays, with a line that tells how far it is.
func (a *app) replay(ctx context.Context, box *outbox.Outbox, c connection, o outbox.ReplayOptions, dry bool) ([]outbox.Replayed, error) {
	line := a.liveLine()
	defer line.clear()
	o.DryRun = dry
	o.Told = func(q outbox.Replayed) {
		line.show(func() string {
			return fmt.Sprintf("%s: %s buried, %s sent, %s there", addressTitle(q.Queue), thousands(q.Buried+q.Cancelled), thousands(q.Sent+q.Dead), thousands(q.Known))
		})
	}
	return box.Replay(ctx, c.Client, o)
}

// replayObject is the object of a replay of one queue.
type replayObject struct {
	Queue     string `json:"queue"`
	DryRun    bool   `json:"dry_run"`
	Buried    int64  `json:"buried"`
	Cancelled int64  `json:"cancelled"`
	Sent      int64  `json:"sent"`
	Dead      int64  `json:"dead"`
	Known     int64  `json:"known"`
	SetAside  int64  `json:"set_aside"`
	Done      bool   `json:"done"`
	// Held is why a topic takes no events; null = it does, or it is a queue.
	Held *string `json:"held"`
}

// printReplayed tells what was done before err, and what would be.
func (a *app) printReplayed(all []outbox.Replayed, dry bool, err error) error {
	for _, q := range all {
		var failed error
		if a.json {
			failed = printJSON(a.stdout, replayObject{q.Queue, dry, q.Buried, q.Cancelled, q.Sent, q.Dead, q.Known, q.SetAside, q.Done, orNil(q.Held)})
		} else {
			_, failed = fmt.Fprintf(a.stdout, "%s: %s\n", addressTitle(q.Queue), replayText(q, dry))
		}
		if failed != nil {
			return failed
		}
	}
	if err != nil && !dry && !errors.Is(err, outbox.ErrInvalid) {
		return fmt.Errorf("the replay is not over, queues may be paused, and the same command goes on: %w", err)
	}
	return err
}

func replayText(q outbox.Replayed, dry bool) string {
	text := fmt.Sprintf("jobs that had ended: deleted %s, cancelled %s; unfinished: sent %s, put back to the dead %s, there already %s",
		thousands(q.Buried), thousands(q.Cancelled), thousands(q.Sent), thousands(q.Dead), thousands(q.Known))
	if isTopicAddress(q.Queue) {
		text = fmt.Sprintf("events: published %s, there already %s", thousands(q.Sent), thousands(q.Known))
	}
	switch {
	case dry && isTopicAddress(q.Queue): // which of them are there already it can't say
		text = "would do: publish at most " + grouped(q.Sent, "event")
	case dry:
		text = "would do: " + text
	case !q.Done:
		text = "not done: " + text
	}
	if q.Held != "" {
		text += ": " + q.Held
	}
	if q.SetAside > 0 {
		text += fmt.Sprintf(", set aside %s (outbox list)", thousands(q.SetAside))
	}
	return text
}
