package outbox

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// A batch has at most so many rows, and so many bytes of bodies; one row always comes.
const (
	batchRows  = 1000
	batchBytes = 4 << 20
)

// States of a row, as the database has them.
const (
	stateNew     = 0
	stateSent    = 1
	stateAcked   = 2
	stateDead    = 3
	stateDeleted = 4 // or cancelled
	stateAside   = 5

	// An event is over for the outbox when it was published: its row is one that has ended, and is purged as such.
	statePublished = stateAcked
)

// carried is a row on its way to Redis.
type carried struct {
	seq      int64
	queue    string
	id       string
	state    int
	born     time.Time
	draft    record.Draft
	unusable error // the body can't be read, or breaks a limit: of a newer version, or damaged
}

// sized is a row by its number, and what its body weighs.
type sized struct{ seq, bytes int64 }

// fitting are those of the rows that go into one batch.
func fitting(rows []sized) []int64 {
	var seqs []int64
	bytes := int64(0)
	for i, r := range rows {
		if bytes += r.bytes; i > 0 && bytes > batchBytes {
			break
		}
		seqs = append(seqs, r.seq)
	}
	return seqs
}

// claim reads a batch of rows that are to be sent to its queue. In a transaction they are locked until its end, and rows
// that others have locked are passed over.
func (b *batch) claim(ctx context.Context, s Session) error {
	o, most := b.r.o, cmp.Or(b.l.room, batchRows)
	var all []sized
	err := o.each(ctx, s, func(scan func(...any) error) error {
		var r sized
		var keyed bool
		err := scan(&r.seq, &r.bytes, &keyed)
		all, b.keyed = append(all, r), b.keyed || keyed
		return err
	}, "claim", b.before.name, most)
	if err != nil || len(all) == 0 {
		return err
	}
	seqs := fitting(all)
	b.whole = len(seqs) < len(all) || len(all) == most
	b.rows, err = o.bodies(ctx, s, seqs)
	return err
}

// bodies reads rows whole, in order.
func (o *Outbox) bodies(ctx context.Context, s Session, seqs []int64) ([]carried, error) {
	rows := make([]carried, 0, len(seqs))
	err := o.each(ctx, s, func(scan func(...any) error) error {
		var c carried
		var born int64
		var body []byte
		err := scan(&c.seq, &c.queue, &c.id, &born, &c.state, &body)
		c.born = time.UnixMilli(born)
		c.draft, c.unusable = usable(c.queue, c.id, body)
		c.unusable = errors.Join(c.unusable, checkBorn(c.born))
		rows = append(rows, c)
		return err
	}, "bodies", listOf(seqs))
	return rows, err
}

// checkBorn checks the time that a row was given, by the database or by whoever wrote it: a job can be due then.
func checkBorn(born time.Time) error {
	if born.UnixMilli() < 0 || born.Year() > 2500 {
		return invalid("born", "is %d ms since 1970: from 1970 to 2500", born.UnixMilli())
	}
	return nil
}

// usable reads a body, and says why it can be no job. The draft is what could be read.
func usable(queue, id string, body []byte) (record.Draft, error) {
	d, err := parsed(queue, body)
	if err != nil {
		return d, err
	}
	if isTopic(queue) {
		err = d.CheckEvent()
	}
	return d, errors.Join(err, d.Job.Check(id, d.Priority), record.CheckSize(d.Job.Payload, hardPayload))
}

// add is a row as the store sends it. The ID of an event counts as given, also where it was made up: such are known for longer,
// and a relay that died when it had published the row may be away for more than a minute.
func (c *carried) add(number byte) store.Add {
	job := c.draft.Sent(number, c.born)
	job.Named = job.Named || isTopic(c.queue)
	return store.Add{ID: c.id, Priority: c.draft.Priority, LIFO: c.draft.LIFO, Job: job}
}
