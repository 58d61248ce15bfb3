package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/topic"
)

func (a *app) topicUnsubscribeCommand() *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use: "unsubscribe TOPIC/NAME", Short: "End a subscription", Args: between(1, 1),
		Long: `Unsubscribe ends a subscription: it takes no more events, and holds none any longer. Jobs of events that it has taken stay in
its queue, to be worked off or deleted (queue purge). You are told what it has not taken, and asked; without a terminal give
--yes. Stop its workers first: one that subscribes makes the subscription anew when it starts.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes && !a.canAsk() {
				return usage(cmd, "this ends a subscription, and there is no terminal to ask on: give --yes")
			}
			return a.onSubscription(cmd, args[0], func(ctx context.Context, t *topic.Stream, s subscription) error {
				return a.unsubscribe(ctx, t, s, yes)
			})
		},
		ValidArgsFunction: a.completeSubscription,
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// unsubscribeObject is the object of a subscription that was ended.
type unsubscribeObject struct {
	Topic        string `json:"topic"`
	Subscription string `json:"subscription"`
	Queue        string `json:"queue"`
	Lag          int64  `json:"lag"`
	Live         int64  `json:"live"`
	Dead         int64  `json:"dead"`
}

func (a *app) unsubscribe(ctx context.Context, t *topic.Stream, s subscription, yes bool) error {
	all, err := t.Stats(ctx)
	if err != nil {
		return err
	}
	stands, err := s.find(all)
	if err != nil {
		return err
	}
	if !yes {
		if err := a.ask(ctx, unsubscribeQuestion(s, stands)); err != nil {
			return err
		}
	}
	left, err := t.Remove(ctx, s.name)
	switch {
	case err != nil:
		return err
	case !left.Removed:
		return &noSubscriptionError{subscription: s} // somebody else ended it just now
	case a.json:
		return printJSON(a.stdout, unsubscribeObject{s.topic, s.name, s.String(), left.Lag, left.Live, left.Dead})
	}
	_, err = fmt.Fprintf(a.stdout, "subscription %s is ended: %s\n", s, leftText(left.Lag, left.Live, left.Dead))
	return err
}

func unsubscribeQuestion(s subscription, at topic.SubscriptionStats) string {
	live := at.Ready + at.Active + at.Retry + at.Scheduled + at.Parked + at.Spilled
	return fmt.Sprintf("End subscription %s: %s?", s, leftText(at.Lag, live, at.Dead))
}

// leftText is what an ended subscription leaves.
func leftText(lag, live, dead int64) string {
	return fmt.Sprintf("%s not taken, %s and %s in its queue stay", grouped(lag, "event"), grouped(live, "live job"), grouped(dead, "dead job"))
}
