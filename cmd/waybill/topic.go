package main

import (
	"context"
	"errors"
	"fmt"
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

// What was named is not there.
var (
	errNoSubscription = errors.New("there is no such subscription")
	errNoTopic        = errors.New("nobody has published to it or subscribed")
)

// onTopic does something to a topic.
func (a *app) onTopic(cmd *cobra.Command, name string, do func(context.Context, *topic.Stream) error) error {
	if err := checkTopic(cmd, name); err != nil {
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

// checkTopic checks the name of a topic, and knows that of a subscription. Errors: ErrInvalid.
func checkTopic(cmd *cobra.Command, name string) error {
	s, err := parseSubscription(name)
	if err != nil {
		return store.CheckTopic(name)
	}
	command := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	return &record.InputError{Field: "topic", Why: "is " + s.String() + ", a subscription: " + command + " " + s.topic}
}

// lookAtTopic is onTopic for commands that make nothing: a topic that nobody has written to is not found, since its name may be
// mistyped. Errors: errNoTopic.
func (a *app) lookAtTopic(cmd *cobra.Command, name string, do func(context.Context, *topic.Stream) error) error {
	return a.onTopic(cmd, name, func(ctx context.Context, t *topic.Stream) error {
		there, tried, err := topicThere(ctx, t)
		if err == nil && !there && !tried {
			err = fmt.Errorf("topic %s: %w%s", name, errNoTopic, a.nearTopic(ctx, name))
		}
		if err != nil {
			return err
		}
		return do(ctx, t)
	})
}

// topicThere tells whether anything is known of a topic: an event, a subscription, a group, a setting; and whether an event was
// refused there.
func topicThere(ctx context.Context, t *topic.Stream) (there, tried bool, err error) {
	s, err := t.Stats(ctx)
	if err != nil || s.Published+s.Entries > 0 || len(s.Subscriptions)+len(s.Groups) > 0 {
		return true, true, err
	}
	there, err = t.Known(ctx)
	return there, s.Rejected > 0, err
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
	names := make([]string, len(all.Subscriptions))
	for i, one := range all.Subscriptions {
		names[i] = s.topic + "/" + one.Name
	}
	return topic.SubscriptionStats{}, &noSubscriptionError{s, isIt(s.String(), names)}
}

// noSubscriptionError names a subscription that is not there. It unwraps to errNoSubscription.
type noSubscriptionError struct {
	subscription
	near string // asks whether another one was meant; "" where none is near
}

func (e *noSubscriptionError) Error() string {
	return "subscription " + e.subscription.String() + ": " + errNoSubscription.Error() + e.near
}

func (e *noSubscriptionError) Unwrap() error { return errNoSubscription }

func noSubscriptionHint(err error) string {
	if none, ok := errors.AsType[*noSubscriptionError](err); ok {
		return "topic stats " + none.topic + " lists those that are there, topic subscribe makes one"
	}
	return "topic stats lists those that are there"
}
