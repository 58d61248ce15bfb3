package waybill

import (
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// Draft is the request as an outbox keeps it until it is sent, checked and with its ID. It is for package outbox, its type is
// this module's own, and nothing is promised of it to others. maxPayload in bytes; 0 = 256 KiB. Errors: ErrInvalid; the
// draft has queue and ID also then.
func (r Request) Draft(maxPayload int) (record.Draft, error) {
	if maxPayload == 0 {
		maxPayload = record.MaxPayload
	}
	r.name()
	d := record.Draft{
		Queue: r.Queue, ID: r.ID, Priority: r.Priority, LIFO: r.LIFO, Spill: r.OnFull == FullSpill, Job: r.job(),
	}
	if r.OnFull > 0 && r.OnFull != FullWait {
		return d, invalid("on full", "is a time to wait: a job of an outbox waits for room as long as it takes, or is spilled")
	}
	return d, r.check(maxPayload)
}

// Outbox is a queue, or by its address "topic:NAME" a topic, as the relay of the outbox of that name sees it. Nothing is sent.
// It is for package outbox, its type is this module's own, and nothing is promised of it to others. Errors: ErrInvalid. Safe
// for concurrent use.
func (c *Client) Outbox(address, name string) (*store.Outbox, error) {
	if err := store.CheckAddress(address); err != nil {
		return nil, err
	}
	q, err := c.queue(address)
	if err != nil {
		return nil, err
	}
	return q.Outbox(name), nil
}
