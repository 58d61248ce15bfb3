package demo

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill"
)

// topicAccount compares what was published, what the subscriptions list and what was done.
func (r *run) topicAccount(ctx context.Context, listed map[string]waybill.JobInfo) (a TopicAccount, lost []string, err error) {
	s, err := ordered.Stream(r.client).Stats(ctx)
	if err != nil {
		return a, nil, err
	}
	a = TopicAccount{Topic: s.Topic, Sent: len(r.plan.events), Published: s.Accepted, Duplicates: s.Duplicates}
	for _, stands := range s.Subscriptions {
		sub := SubscriptionAccount{Subscription: stands.Name, Lag: stands.Lag, Lost: stands.Lost}
		if sub.Queue, err = r.client.Queue(subQueue(stands.Name)).Stats(ctx); err != nil {
			return a, nil, err
		}
		done, err := r.doneFor(ctx, stands.Name)
		if err != nil {
			return a, nil, err
		}
		sub.Effects, sub.Keys, sub.Stray = done.Effects, done.Keys, len(done.of)
		sub.Suppressed = done.Repeats + int(sub.Queue.Suppressed)
		lost = append(lost, sub.compare(r.plan.events, listed, done.of)...)
		a.Subscriptions = append(a.Subscriptions, sub)
	}
	return a, lost, nil
}

// compare goes through the events and gives those that did not end, or whose effect is missing.
func (s *SubscriptionAccount) compare(events []waybill.Request, listed map[string]waybill.JobInfo, done map[string]bool) (lost []string) {
	for _, e := range events {
		name := called(subQueue(s.Subscription), e.ID)
		j := listed[name]
		s.Deliveries += j.Attempt
		switch {
		case j.State == waybill.StateCompleted && done[e.ID]:
			s.Finished++
			s.Stray--
		case j.State == waybill.StateDead:
			s.Dead++
		default:
			lost = append(lost, name)
		}
	}
	return lost
}

// doneFor asks who knows what a subscription has done.
func (r *run) doneFor(ctx context.Context, name string) (effects, error) {
	switch name {
	case subMail:
		return byBook(r.stage.confirm.Book, subQueue(name), domain), nil
	case subBilling:
		return readEvents(ctx, r.stage.ledger(), "SELECT event FROM invoice")
	default:
		return readEvents(ctx, r.stage.ledger(), "SELECT event FROM sale")
	}
}

// readEvents reads of which events a table of the ledger has rows.
func readEvents(ctx context.Context, path, query string) (e effects, err error) {
	db, _, err := openLedger(ctx, path)
	if err != nil {
		return e, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return e, fmt.Errorf("read the events in the ledger: %w", err)
	}
	defer rows.Close()
	e.of = map[string]bool{}
	for rows.Next() {
		var event string
		if err := rows.Scan(&event); err != nil {
			return e, err
		}
		e.Effects++
		e.of[event] = true
	}
	e.Keys = len(e.of)
	return e, rows.Err()
}
