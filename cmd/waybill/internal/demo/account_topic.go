package demo

import (
	"fmt"

	"github.com/waybillhq/waybill"
)

// TopicAccount is what became of the events.
type TopicAccount struct {
	Topic         string                `json:"topic"`
	Sent          int                   `json:"sent"`      // without those that were published again
	Published     int64                 `json:"published"` // by the topic's own count
	Duplicates    int64                 `json:"duplicates"`
	Subscriptions []SubscriptionAccount `json:"subscriptions"`
}

// SubscriptionAccount is what became of the events in one subscription.
type SubscriptionAccount struct {
	Subscription string `json:"subscription"`
	// By the list of its jobs.
	Finished   int `json:"finished"`
	Dead       int `json:"dead"`
	Deliveries int `json:"deliveries"`
	// By the other side.
	Effects    int `json:"effects"`    // how often something was done
	Keys       int `json:"keys"`       // for how many events
	Stray      int `json:"stray"`      // of them not of an event that finished
	Suppressed int `json:"suppressed"` // events that came again when it was done, and did nothing
	// By the topic.
	Lag  int64 `json:"lag"`  // events that it has not taken
	Lost int64 `json:"lost"` // events that were cut before it took them

	Queue waybill.QueueStats `json:"queue"` // by the subscription's own counts
}

// complaints tells what is wrong with the events.
func (a TopicAccount) complaints() (all []string) {
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	expect(a.Published == int64(a.Sent), "%d events were sent, and %d published", a.Sent, a.Published)
	expect(a.Duplicates == ordersAgain, "%d events were published again, and %d were duplicates", ordersAgain, a.Duplicates)
	expect(len(a.Subscriptions) == len(subscriptions), "%d subscriptions are there, not %d", len(a.Subscriptions), len(subscriptions))
	for _, s := range a.Subscriptions {
		all = append(all, s.complaints(a)...)
	}
	return all
}

// complaints tells what is wrong with one subscription.
func (s SubscriptionAccount) complaints(of TopicAccount) (all []string) {
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			all = append(all, subQueue(s.Subscription)+": "+fmt.Sprintf(format, args...))
		}
	}
	q, dead := s.Queue, 0
	if s.Subscription == subBilling {
		dead = gifts
	}
	expect(s.Lag == 0, "%d events are not taken", s.Lag)
	expect(s.Lost == 0, "%d events were cut before they were taken", s.Lost)
	expect(q.Accepted == of.Published, "%d events were published, and %d taken", of.Published, q.Accepted)
	expect(q.Live() == 0, "%d events have not ended", q.Live())
	expect(s.Finished+s.Dead == of.Sent, "%d events, but %d finished and %d dead", of.Sent, s.Finished, s.Dead)
	expect(s.Dead == dead, "%d events are dead, not %d", s.Dead, dead)
	expect(q.Completed == int64(s.Finished), "it counts %d finished, and lists %d", q.Completed, s.Finished)
	expect(q.Died == int64(s.Dead), "it counts %d dead, and lists %d", q.Died, s.Dead)
	expect(q.Deliveries == int64(s.Deliveries), "it counts %d deliveries, its events %d", q.Deliveries, s.Deliveries)
	expect(q.Deliveries == q.Completed+q.Failures+q.Crashes+q.Snoozes+q.Released+q.Active, "its count of deliveries does not add up")
	expect(s.Effects == s.Keys, "%d effects for %d events: something was done twice", s.Effects, s.Keys)
	expect(s.Keys == s.Finished, "%d finished, but %d have their effect", s.Finished, s.Keys)
	expect(s.Stray == 0, "%d effects are of events that did not finish", s.Stray)
	return all
}

// delivered breaks down the deliveries of a subscription.
func (s SubscriptionAccount) delivered() string {
	q, dead := s.Queue, "dead"
	if s.Dead > 0 {
		dead = "dead (declined for good: nothing to bill)"
	}
	return fmt.Sprintf("%d deliveries of %d events = %d finished + %d %s + %d tried again + %d taken back%s; lag %d, lost %d",
		q.Deliveries, q.Accepted, q.Completed, q.Died, dead, q.Failures-q.Died, q.Crashes, rest(q.Snoozes+q.Released+q.Active),
		s.Lag, s.Lost)
}

// tellTopic tells what became of the events.
func (r *run) tellTopic() {
	t := r.account.Topic
	r.step("Events", "The topic %s counts %d events, and %d duplicates. Each subscription has deliveries, retries and "+
		"dead letters of its own:", t.Topic, t.Published, t.Duplicates)
	for _, s := range t.Subscriptions {
		said := s.delivered()
		switch s.Subscription {
		case subMail:
			r.step(s.Subscription, "%s. %d mails by Message-ID; %d that came twice were dropped.", said, s.Keys, s.Suppressed)
		case subBilling:
			r.step(s.Subscription, "%s. %d invoices for %d orders, each booked in one transaction with "+
				"its receipt; %d that came twice were suppressed.", said, s.Effects, s.Keys, s.Suppressed)
		default:
			r.step(s.Subscription, "%s. %d rows, one an event; %d that came twice changed nothing.",
				said, s.Effects, s.Suppressed)
		}
	}
}
