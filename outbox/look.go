package outbox

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/waybillhq/waybill"
)

// Seen is what the Redis of a queue says of an outbox now.
type Seen struct {
	Queue     string
	Unread    int64  // words on what became of jobs that no relay has read
	Strangers int64  // of these, at the last reading, those of jobs that have no row here: they stay
	Lost      string // why it shows that Redis lost data, noticed by a relay or not; "" = it does not
	// Held is why the topic takes no events now, so that its rows wait; "" = it does, or Queue is no topic.
	Held string
}

// Look asks Redis, for each queue that the outbox knows, whether it lost data, as relays do with each call. It writes
// nothing. Errors: ErrInvalid, ErrNoTable, waybill.ErrUnavailable, else the database's; what was seen before is given.
func (o *Outbox) Look(ctx context.Context, c *waybill.Client) ([]Seen, error) {
	if c == nil {
		return nil, invalid("client", "is nil")
	}
	name, err := o.nameThere(ctx)
	if err != nil || name == "" { // it has sent nothing
		return nil, err
	}
	rows, err := o.queueRows(ctx) // before Redis is asked, whose numbers only grow
	if err != nil {
		return nil, err
	}
	var all []Seen
	for _, queue := range slices.Sorted(maps.Keys(rows)) {
		box, err := c.Outbox(queue, name)
		if err != nil {
			return all, fmt.Errorf("queue %q: %w", queue, err)
		}
		s, err := box.Look(ctx)
		if err != nil {
			return all, fmt.Errorf("look at %s: %w", titled(queue), err)
		}
		why, err := o.lostNow(ctx, rows[queue], rows[queue].fell(s))
		if err != nil {
			return all, err
		}
		held, err := heldBy(ctx, c, queue)
		if err != nil {
			return all, fmt.Errorf("look at %s: %w", titled(queue), err)
		}
		all = append(all, Seen{Queue: queue, Unread: s.Unread, Strangers: rows[queue].strangers, Lost: why, Held: held})
	}
	return all, nil
}

// lostNow is why a queue's Redis lost data: by what was noticed, or else by what its numbers show. They mean nothing where a
// replay has begun them anew since the row was read.
func (o *Outbox) lostNow(ctx context.Context, row queueRow, fell string) (string, error) {
	if row.lostMS != 0 {
		return row.why, nil
	}
	if fell == "" {
		return "", nil
	}
	now, err := o.queueRow(ctx, row.name)
	if err != nil || now.epoch != row.epoch {
		return "", err
	}
	return fell, nil
}
