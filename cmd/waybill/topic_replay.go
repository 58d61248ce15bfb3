package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/topic"
)

// topicReplay is what `waybill topic replay` is told.
type topicReplay struct {
	bulkFlags
	from, to placeFlag
	id       string
	goesOn   bool // the ID was given: some may have been delivered before
	again    bool
}

func (a *app) topicReplayCommand() *cobra.Command {
	r := &topicReplay{}
	cmd := &cobra.Command{
		Use: "replay TOPIC/NAME", Short: "Deliver events to one subscription again", Args: between(1, 1),
		Long: `Replay delivers events that the stream still holds to one subscription again, as jobs whose IDs are the replay's with the event's
behind: ID/EVENT. What the subscription has not taken yet it gets by itself besides. How long events are kept for this
topic set says, by --keep.

--from and --to are both included: ` + placeText + `.
Without them it is all that the stream holds when the command starts. Their number is told first, and you are asked; without a
terminal give --yes. Where the subscription is full it waits for room.

Receipts and idempotency keys are those of the events, so what was done is not done again. With --again they are the
replay's own, and effects are repeated.

The ID of the replay is told first. It may be broken off: with the same --id it goes on, and delivers nothing twice within the
subscription's window (an hour, unless queue set TOPIC/NAME --window-named says otherwise).`,
		Example: "  waybill topic replay orders/billing --from 2h --dry-run\n  waybill topic replay orders/billing --from 2026-01-31T09:00:00Z --to 2026-01-31T10:00:00Z --id mend-7",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.check(cmd); err != nil {
				return err
			}
			if !r.yes && !r.dryRun && !a.canAsk() {
				return usage(cmd, "this delivers events again, and there is no terminal to ask on: give --yes, or --dry-run to count only")
			}
			return a.onSubscription(cmd, args[0], func(ctx context.Context, t *topic.Stream, s subscription) error {
				return a.topicReplay(ctx, t, s, r)
			})
		},
		ValidArgsFunction: a.completeSubscription,
	}
	v := cmd.Flags()
	v.Var(&r.from, "from", "events from there on (default: all that are there)")
	v.Var(&r.to, "to", "events up to there (default: all that are there)")
	v.StringVar(&r.id, "id", "", "`NAME` of the replay, to go on with one (default: generated, and told first)")
	v.BoolVar(&r.again, "again", false, "repeat effects: with receipts and idempotency keys of its own")
	completePlaces(cmd, "from")
	completePlaces(cmd, "to")
	r.define(cmd)
	return cmd
}

// check checks the ID, and makes one where none is given.
func (r *topicReplay) check(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("id") {
		r.id = record.NewID(time.Now())
		return nil
	}
	r.goesOn = true
	return topic.CheckReplayID("id", r.id)
}

// replayRange are the events of a replay.
type replayRange struct {
	from, to topic.Place
	events   int64
	untaken  int64 // of them, by the subscription: it gets them by itself too
}

// span finds the events that are meant; taken is the number of the last one that the subscription has taken. An end that was not given is the last event of now, so that the same command means
// the same events.
func (r *topicReplay) span(ctx context.Context, t *topic.Stream, s topic.Stats, taken int64) (replayRange, error) {
	out := replayRange{from: r.from.from(s.At), to: r.to.to(s.At)}
	if out.from == topic.Beginning {
		out.from = ""
	}
	if out.to == "" || out.to == topic.Now {
		out.to = topic.Place(s.Last)
	}
	if s.First == "" {
		return replayRange{}, nil
	}
	if out.from == "" {
		out.from = topic.Place(s.First)
	}
	first, err := numberAt(ctx, t, s, out.from)
	if err != nil {
		return out, err
	}
	if out.to == topic.Beginning {
		return out, nil // nothing lies before it
	}
	behind, err := numberAt(ctx, t, s, next(out.to))
	out.events, out.untaken = max(0, behind-first), max(0, behind-max(first, taken+1))
	return out, err
}

func (a *app) topicReplay(ctx context.Context, t *topic.Stream, s subscription, r *topicReplay) error {
	all, err := t.Stats(ctx)
	if err != nil {
		return err
	}
	sub, err := s.find(all)
	if err != nil {
		return err
	}
	span, err := r.span(ctx, t, all, sub.Taken)
	if err != nil {
		return err
	}
	done := topic.Replayed{}
	a.say("replay %s: %s", r.id, span.text())
	if r.dryRun || span.events == 0 {
		return a.printTopicReplay(s, r, span, done, nil)
	}
	if !r.yes {
		if err := a.ask(ctx, r.question(s, span)); err != nil {
			return err
		}
	}
	line, began := a.liveLine(), time.Now()
	done, err = t.Replay(ctx, s.name, topic.ReplayOptions{
		ID: r.id, From: span.from, To: span.to, Again: r.again,
		Progress: func(d topic.Replayed) { line.show(func() string { return replayLine(d, span, began) }) },
	})
	line.clear()
	switch {
	case err != nil && ctx.Err() != nil:
		err = fmt.Errorf("%w: %s delivered so far; %s goes on", errInterrupted, grouped(done.Delivered, "event"), r.command(s, span))
	case err != nil && done.Events > 0:
		a.say("%s delivered so far; %s goes on", grouped(done.Delivered, "event"), r.command(s, span))
	}
	return a.printTopicReplay(s, r, span, done, err)
}

// text is which events are meant.
func (p replayRange) text() string {
	if p.events == 0 {
		return "the stream holds no such event"
	}
	return fmt.Sprintf("%s from %s to %s", grouped(p.events, "event"), p.from, p.to)
}

func (r *topicReplay) question(s subscription, span replayRange) string {
	text := fmt.Sprintf("Deliver %s to %s again", grouped(span.events, "event"), s)
	if span.untaken > 0 {
		text += fmt.Sprintf(", %s of which it has not taken yet and gets twice", thousands(span.untaken))
	}
	if r.again {
		text += ", and repeat effects"
	}
	return text + "?"
}

// command is what goes on with the replay.
func (r *topicReplay) command(s subscription, span replayRange) string {
	text := fmt.Sprintf("waybill topic replay %s --id %s --from %s --to %s", s, r.id, span.from, span.to)
	if r.again {
		text += " --again"
	}
	return text
}

// replayLine tells how far a replay is.
func replayLine(d topic.Replayed, span replayRange, began time.Time) string {
	rate := float64(d.Events) / max(time.Since(began).Seconds(), 1e-3)
	return fmt.Sprintf("%s delivered, %s were before, %s a second, %s left", thousands(d.Delivered), thousands(d.Duplicates),
		thousands(int64(rate)), thousands(max(0, span.events-d.Events)))
}

// topicReplayObject is the object of a replay.
type topicReplayObject struct {
	Topic        string       `json:"topic"`
	Subscription string       `json:"subscription"`
	Queue        string       `json:"queue"`
	ID           string       `json:"id"`
	From         *topic.Place `json:"from"`
	To           *topic.Place `json:"to"`
	Again        bool         `json:"again"`
	DryRun       bool         `json:"dry_run"`
	Events       int64        `json:"events"` // in the range
	Delivered    int64        `json:"delivered"`
	Duplicates   int64        `json:"duplicates"`
	Last         *string      `json:"last"`
	Error        *string      `json:"error"`
	Message      *string      `json:"message"`
}

// printTopicReplay tells what was done before err, or would be.
func (a *app) printTopicReplay(s subscription, r *topicReplay, span replayRange, d topic.Replayed, err error) error {
	if a.json {
		o := topicReplayObject{
			Topic: s.topic, Subscription: s.name, Queue: s.String(), ID: r.id, Again: r.again, DryRun: r.dryRun, Events: span.events,
			Delivered: d.Delivered, Duplicates: d.Duplicates, Last: orNil(d.Last),
		}
		if span.from != "" {
			o.From, o.To = &span.from, &span.to
		}
		if err != nil {
			o.Error, o.Message = wordsOf(err)
		}
		return a.object(o, err)
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s delivered to %s again, %s before", grouped(d.Delivered, "event"), s, thousands(d.Duplicates))
	if r.dryRun {
		text = fmt.Sprintf("%s would be delivered to %s again", grouped(span.events, "event"), s)
		if r.goesOn {
			text = "at most " + text + ": those not delivered by this replay before"
		}
		if span.untaken > 0 {
			text += fmt.Sprintf("; %s of them it has not taken yet and gets twice", thousands(span.untaken))
		}
	}
	_, failed := fmt.Fprintln(a.stdout, text)
	return failed
}
