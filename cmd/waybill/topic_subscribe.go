package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/topic"
)

// subscribeFlags are what `waybill topic subscribe` is told.
type subscribeFlags struct {
	from   placeFlag
	attach bool
}

func (a *app) topicSubscribeCommand() *cobra.Command {
	f := &subscribeFlags{}
	cmd := &cobra.Command{
		Use: "subscribe TOPIC/NAME", Short: "Make a subscription, or attach one again", Args: between(1, 1),
		Long: `Subscribe makes a subscription at a place of the topic's stream: all later events reach it, whenever its workers come, and what
it has not taken is not cut. One that exists keeps its place, and that is said. Work --subscribe makes one too.

--from is ` + placeText + `.

Where topic set says --on-full detach, a full stream detaches the slowest subscription: it takes nothing any more. With
--attach it takes events again, from where it stood, or from --from if that is later; how many were cut meanwhile is said.`,
		Example: "  waybill topic subscribe orders/billing\n  waybill topic subscribe orders/report --from 24h",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onSubscription(cmd, args[0], func(ctx context.Context, t *topic.Stream, s subscription) error {
				return a.subscribe(ctx, t, s, f)
			})
		},
		ValidArgsFunction: a.completeSubscription,
	}
	cmd.Flags().Var(&f.from, "from", "where it begins (default: beginning)")
	cmd.Flags().BoolVar(&f.attach, "attach", false, "let one that was detached take events again")
	completePlaces(cmd, "from")
	return cmd
}

// completePlaces completes a flag with the words of places.
func completePlaces(cmd *cobra.Command, flag string) {
	completeWith(cmd, flag, []topic.Place{topic.Beginning, topic.Now})
}

// subscribeObject is the object of a subscription that was made, found or attached.
type subscribeObject struct {
	Topic        string        `json:"topic"`
	Subscription string        `json:"subscription"`
	Queue        string        `json:"queue"`
	Outcome      topic.Outcome `json:"outcome"`
	Cursor       *string       `json:"cursor"`
	Taken        int64         `json:"taken"`
	Lag          int64         `json:"lag"`
	Lost         int64         `json:"lost"`
}

func (a *app) subscribe(ctx context.Context, t *topic.Stream, s subscription, f *subscribeFlags) error {
	from := f.from.place
	_, timed := f.from.timed(time.Time{})
	if f.attach || timed {
		now, err := t.Stats(ctx)
		if err != nil {
			return err
		}
		if _, err := s.find(now); f.attach && err != nil {
			return err
		}
		from = f.from.from(now.At)
	}
	there, _, err := topicThere(ctx, t)
	if err != nil {
		return err
	}
	near := "" // asked before it is there itself
	if !there {
		near = a.nearTopic(ctx, s.topic)
	}
	do := t.Create
	if f.attach {
		do = t.Attach
	}
	at, err := do(ctx, s.name, from)
	if err != nil {
		return err
	}
	if !there && at.Outcome == topic.Created {
		a.say("topic %s is new%s", s.topic, near)
	}
	if a.json {
		return printJSON(a.stdout, subscribeObject{
			s.topic, s.name, s.String(), at.Outcome, orNil(at.Cursor), at.Taken, max(0, at.Last-at.Taken), at.Lost,
		})
	}
	if at.Lost > 0 {
		a.say("%s lost %s that were cut while it was detached: bring them from where they came from", s, grouped(at.Lost, "event"))
	}
	_, err = fmt.Fprintf(a.stdout, "subscription %s %s\n", s, subscribedText(s, at))
	return err
}

// subscribedText is what became of a subscription, and where it stands.
func subscribedText(s subscription, at topic.Standpoint) string {
	lag := grouped(max(0, at.Last-at.Taken), "event") + " to take"
	switch at.Outcome {
	case topic.Created:
		return "is made, with " + lag
	case topic.Attached:
		return "is attached, with " + lag
	case topic.Detached:
		return "exists, and is detached: topic subscribe " + s.String() + " --attach"
	}
	return "exists and keeps its place, with " + lag
}
