package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// Publish enters events into the outbox, in the transaction that the caller holds and commits: they are published if and only
// if it commits. It is Enqueue for events alone, which topic.Topic.Request makes; what is none is ErrInvalid. Enqueue and
// EnqueueMany take events too, beside jobs, as Client.EnqueueMany does.
//
// A relay publishes an event once: again within the topic's window (an hour, unless set) it is a duplicate, and its ID counts
// as given, also where it was made up. A topic that is full, or that has no subscription and no bound, takes no events: their
// rows wait, and are sent as soon as it does. A row is over when its event was published: what becomes of it in the
// subscriptions nobody tells the outbox. It stays for Options.Keep, so that Replay can publish it again.
//
// Errors: as Enqueue.
func (o *Outbox) Publish(ctx context.Context, tx *sql.Tx, events ...waybill.Request) error {
	_, err := o.enterIn(ctx, tx, Entry{All: true, Events: true}, events)
	return err
}

// PublishInOrder is Publish for events that enter their topic in the order of their rows, by key: see EnqueueInOrder.
// Errors: as EnqueueInOrder.
func (o *Outbox) PublishInOrder(ctx context.Context, tx *sql.Tx, key string, events ...waybill.Request) error {
	if key == "" {
		return invalid("key", "is empty: 1 to %d bytes", maxKey)
	}
	_, err := o.enterIn(ctx, tx, Entry{All: true, Key: key, Events: true}, events)
	return err
}

// isTopic says whether the rows of a queue are events: its name is the address of a topic then, "topic:NAME".
func isTopic(queue string) bool {
	_, ok := store.TopicOf(queue)
	return ok
}

// titled names a queue, or a topic, for people.
func titled(queue string) string {
	if topic, ok := store.TopicOf(queue); ok {
		return "topic " + topic
	}
	return "queue " + queue
}

// parsed reads a body. An event that another language wrote may leave its kind out: that is the topic's name.
func parsed(queue string, body []byte) (record.Draft, error) {
	d, err := record.ParseDraft(body)
	if topic, ok := store.TopicOf(queue); ok && err == nil {
		d.Job.Kind = cmp.Or(d.Job.Kind, topic)
	}
	return d, err
}

// conflictIn is why a row is set aside whose ID is taken. A queue takes an ID from one outbox or from none; a topic keeps no
// word for an outbox, so there it is the same event, whoever published it.
func conflictIn(queue string) error {
	if isTopic(queue) {
		return waybill.ErrConflict
	}
	return fmt.Errorf("%w, or it came another way than by this outbox", waybill.ErrConflict)
}

// markSent marks rows that their queue has taken.
func (o *Outbox) markSent(ctx context.Context, s Session, queue string, seqs []int64) error {
	if isTopic(queue) {
		_, err := o.change(ctx, s, "end", statePublished, listOf(seqs))
		return err
	}
	_, err := o.change(ctx, s, "sent", listOf(seqs))
	return err
}

// noSubscription is why a topic takes no events, for people.
const noSubscription = "it has no subscription and no bound"

// heldBy is why the topic of an address takes no events now; "" where it does, or where that is a queue.
func heldBy(ctx context.Context, c *waybill.Client, queue string) (string, error) {
	name, ok := store.TopicOf(queue)
	if !ok {
		return "", nil
	}
	t, err := c.Topic(name)
	if err != nil {
		return "", err
	}
	s, err := t.Look(ctx)
	if err != nil {
		return "", err
	}
	set, err := t.Settings(ctx)
	if err != nil {
		return "", err
	}
	gives := *set.OnFull == store.FullDetaches && len(s.Subscriptions) > 0 // way: with nobody to detach nothing is cut
	switch {
	case s.Capacity != store.Unlimited && s.Entries >= s.Capacity && !gives:
		return fmt.Sprintf("it is full (%d of %d)", s.Entries, s.Capacity), nil
	case len(s.Subscriptions) == 0 && s.Capacity == store.Unlimited && *set.MaxAge == store.Unlimited && *set.MaxEvents == store.Unlimited:
		return noSubscription, nil
	}
	return "", nil
}
