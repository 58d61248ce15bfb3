package outbox

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// DropStrangers takes away the words of a queue for this outbox on jobs that have no row here, and gives their number: rows
// that somebody deleted, or that a copy of the database did not bring back. Relays leave such words where they are, and read
// them again each time. The jobs stay as they are. Words that come meanwhile may stay; it may be broken off and repeated.
//
// Errors: ErrInvalid, ErrNoTable, ErrLost (nothing is taken away before a replay), waybill.ErrUnavailable, else the
// database's; what was taken away before is counted.
func (o *Outbox) DropStrangers(ctx context.Context, c *waybill.Client, queue string) (dropped int64, err error) {
	if c == nil {
		return 0, invalid("client", "is nil")
	}
	rows, err := o.queueRows(ctx)
	if err != nil {
		return 0, err
	}
	row, known := rows[queue]
	if !known {
		return 0, invalid("queue", "%q has nothing of this outbox", queue)
	}
	name, err := o.Name(ctx)
	if err != nil {
		return 0, err
	}
	box, err := c.Outbox(queue, name)
	if err != nil {
		return 0, err
	}
	d := &dropping{o: o, box: box, row: row}
	if d.number, err = d.enter(ctx); err != nil {
		return 0, err
	}
	return d.all(ctx)
}

// dropping is one call of DropStrangers.
type dropping struct {
	o      *Outbox
	box    *store.Outbox
	row    queueRow
	number byte
}

// enter gives the number under which the queue knows the outbox.
func (d *dropping) enter(ctx context.Context) (byte, error) {
	s, err := d.box.Look(ctx)
	if err != nil {
		return 0, err
	}
	why, err := d.o.lostNow(ctx, d.row, d.row.fell(s))
	switch {
	case err != nil:
		return 0, err
	case why != "":
		return 0, fmt.Errorf("queue %s: %s: %w", d.row.name, why, ErrLost)
	}
	return s.Number, nil
}

// all reads all pages. What is to go of one is taken away when the next one is read.
func (d *dropping) all(ctx context.Context) (dropped int64, err error) {
	if d.number == 0 { // the queue does not know the outbox, and keeps nothing for it
		return 0, nil
	}
	var strange []store.Word
	for cursor, over := "0", false; ; {
		words, next, _, err := d.box.Read(ctx, d.number, cursor, strange)
		if err != nil {
			return dropped, fmt.Errorf("read words of queue %s: %w", d.row.name, err)
		}
		if dropped += int64(len(strange)); over {
			return dropped, nil
		}
		if strange, err = d.strangers(ctx, words); err != nil {
			return dropped, err
		}
		if cursor, over = next, next == "0"; over && len(strange) == 0 {
			return dropped, nil
		}
	}
}

// strangers are the words on jobs that have no row. The rows are read after the words: what was sent has its row since
// before.
func (d *dropping) strangers(ctx context.Context, words []store.Word) (out []store.Word, err error) {
	if len(words) == 0 {
		return nil, nil
	}
	ids, known := make([]string, len(words)), map[string]bool{}
	for i, w := range words {
		ids[i] = w.ID
	}
	err = d.o.each(ctx, d.o.plain(), func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		known[id] = true
		return err
	}, "known", d.row.name, listOf(ids))
	for _, w := range words {
		if !known[w.ID] {
			out = append(out, w)
		}
	}
	return out, d.o.named(err)
}
