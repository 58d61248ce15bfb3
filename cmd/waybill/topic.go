package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/topic"
)

const topicHelp = `A topic is a stream of events. Each subscription takes every event, at its own pace, and makes a job of it in a queue of its own,
TOPIC/NAME: with retries, dead letters, a pause and a capacity of its own. What is for queues is for that queue too:
  waybill work --subscribe orders/billing --exec ./bill.sh
  waybill job list orders/billing --state dead
  waybill queue pause orders/billing

Where events are to be kept for a subscription, make it before they are published: topic subscribe, or a worker that
subscribes. topic stats says how all stand, and what to do where something is not as it should be.`

func (a *app) topicCommand() *cobra.Command {
	cmd := parent("topic", "Publish events, and look at topics and subscriptions",
		a.topicPublishCommand(), a.topicListCommand(), a.topicStatsCommand(), a.topicSubscribeCommand(), a.topicUnsubscribeCommand(),
		a.topicReplayCommand(), a.topicTrimCommand(), a.topicSetCommand(), a.topicEventsCommand())
	cmd.Long = topicHelp
	return cmd
}

// errNoSubscription: what was named is not there.
var errNoSubscription = errors.New("there is no such subscription")

// onTopic does something to a topic.
func (a *app) onTopic(cmd *cobra.Command, name string, do func(context.Context, *topic.Stream) error) error {
	if err := store.CheckTopic(name); err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(ctx, topic.Open(c.Client, name))
}

// lookAtTopic is onTopic for commands that make nothing: it says where nobody has written to the topic yet, since its name may
// be mistyped.
func (a *app) lookAtTopic(cmd *cobra.Command, name string, do func(context.Context, *topic.Stream) error) error {
	return a.onTopic(cmd, name, func(ctx context.Context, t *topic.Stream) error {
		a.doubtTopic(ctx, t, name)
		return do(ctx, t)
	})
}

func (a *app) doubtTopic(ctx context.Context, t *topic.Stream, name string) {
	ctx, cancel := context.WithTimeout(ctx, doubtTime)
	defer cancel()
	if known, err := t.Known(ctx); err == nil && !known {
		a.say("topic %s: nobody has written to it yet", name)
	}
}

// subscription is what TOPIC/NAME names.
type subscription struct{ topic, name string }

func (s subscription) String() string { return s.topic + "/" + s.name }

// parseSubscription reads TOPIC/NAME. Errors: ErrInvalid.
func parseSubscription(text string) (subscription, error) {
	of, name, ok := strings.Cut(text, "/")
	if !ok {
		return subscription{}, &record.InputError{Field: "subscription", Why: "is " + oneLine(text) + ": give TOPIC/NAME"}
	}
	err := errors.Join(store.CheckTopic(of), record.CheckName("subscription", name))
	return subscription{of, name}, err
}

// onSubscription does something to a subscription, with the stream of its topic.
func (a *app) onSubscription(cmd *cobra.Command, text string, do func(context.Context, *topic.Stream, subscription) error) error {
	s, err := parseSubscription(text)
	if err != nil {
		return err
	}
	return a.onTopic(cmd, s.topic, func(ctx context.Context, t *topic.Stream) error { return do(ctx, t, s) })
}

// find is how a subscription stands among those of its topic. Errors: errNoSubscription.
func (s subscription) find(all topic.Stats) (topic.SubscriptionStats, error) {
	for _, one := range all.Subscriptions {
		if one.Name == s.name {
			return one, nil
		}
	}
	return topic.SubscriptionStats{}, &noSubscriptionError{s}
}

// noSubscriptionError names a subscription that is not there. It unwraps to errNoSubscription.
type noSubscriptionError struct{ subscription }

func (e *noSubscriptionError) Error() string {
	return "subscription " + e.subscription.String() + ": " + errNoSubscription.Error()
}

func (e *noSubscriptionError) Unwrap() error { return errNoSubscription }

func noSubscriptionHint(err error) string {
	if none, ok := errors.AsType[*noSubscriptionError](err); ok {
		return "topic stats " + none.topic + " lists those that are there, topic subscribe makes one"
	}
	return "topic stats lists those that are there"
}
