package demo

import (
	"context"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/topic"
)

// order is the event: an order was placed.
type order struct{ Number, Cents int }

// ordered is the topic, declared once for who publishes and who subscribes.
var ordered = topic.Define[order]("orders")

// Its subscriptions.
const (
	subMail      = "mail"
	subBilling   = "billing"
	subAnalytics = "analytics"
)

// subscriptions are all of them, in the order in which they are told.
var subscriptions = [...]string{subMail, subBilling, subAnalytics}

// subQueue is the queue of a subscription.
func subQueue(name string) string { return ordered.Name() + "/" + name }

// queues are all that the workers work off.
func queues() []string {
	all := []string{queueName}
	for _, name := range subscriptions {
		all = append(all, subQueue(name))
	}
	return all
}

// called is what a job is called beside those of other queues.
func called(queue, id string) string {
	if queue == queueName {
		return id
	}
	return queue + "/" + id
}

// How many events, and what is to befall them.
const (
	orders      = 40
	ordersAgain = 4 // are published a second time
	gifts       = 2 // cost nothing, so that billing refuses them

	busyConfirm, lostConfirm = 4, 2
	busyAccounts             = 3

	heldOrder = 6 // number of the one during which a worker is killed: early, before the jobs that are held
)

// subscribed are the options of all subscriptions: as those of the kinds.
func subscribed() topic.SubscribeOptions {
	o := options()
	return topic.SubscribeOptions{Retry: o.Retry, Timeout: o.Timeout, Retention: o.Retention}
}

// publish makes the subscriptions, as a deployment does, and publishes the events, some of them twice.
func (r *run) publish(ctx context.Context) error {
	for _, name := range subscriptions {
		if _, err := ordered.Create(ctx, r.client, name, topic.Beginning); err != nil {
			return err
		}
	}
	sent, err := r.client.EnqueueMany(ctx, r.plan.events)
	if err != nil {
		return err
	}
	again, err := r.client.EnqueueMany(ctx, r.plan.events[:ordersAgain])
	if err != nil {
		return err
	}
	r.step("Publish", "%d orders to the topic %s, which mail, billing and analytics subscribe to: each gets all of them. "+
		"Answer: %d accepted. %d of them again: %d duplicates.",
		len(sent), ordered.Name(), count(sent, waybill.OutcomeAccepted), len(again), count(again, waybill.OutcomeDuplicate))
	return nil
}

// underWay is how the subscriptions stand together.
type underWay struct {
	ended, left int64 // events, counted once a subscription
	active      int64
	retry       int64
}

// look asks how the subscriptions stand.
func (r *run) look(ctx context.Context) (u underWay, err error) {
	s, err := ordered.Stream(r.client).Stats(ctx)
	for _, sub := range s.Subscriptions {
		live := sub.Ready + sub.Active + sub.Retry + sub.Scheduled + sub.Parked + sub.Spilled
		u.left += sub.Lag + live
		u.ended += sub.Taken - live
		u.active, u.retry = u.active+sub.Active, u.retry+sub.Retry
	}
	return u, err
}
