package outbox

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/internal/store"
)

// send sends the unfinished jobs that Redis does not have, and puts back the dead.
func (r *replay) send(ctx context.Context) error {
	return r.walk(ctx, "unfinished", func(ctx context.Context, q *replayed, rows []found) error {
		if r.ro.DryRun {
			return r.count(ctx, q, rows)
		}
		sizes := make([]sized, len(rows))
		for i, w := range rows {
			sizes[i] = sized{w.seq, w.bytes}
		}
		return r.pages(ctx, sizes, func(ctx context.Context, some []carried) error { return r.sendSome(ctx, q, some) })
	})
}

// pages reads rows whole, as many at a time as fit into a batch, and gives them to f.
func (r *replay) pages(ctx context.Context, sizes []sized, f func(context.Context, []carried) error) error {
	for len(sizes) > 0 {
		seqs := fitting(sizes)
		sizes = sizes[len(seqs):]
		some, err := r.o.bodies(ctx, r.o.plain(), seqs)
		if err != nil {
			return r.o.named(err)
		}
		if err := f(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// usable gives the rows that can be sent, and sets the others aside.
func (r *replay) usable(ctx context.Context, q *replayed, rows []carried) (some []carried, err error) {
	for _, c := range rows {
		if c.unusable == nil {
			some = append(some, c)
			continue
		}
		if err := r.aside(ctx, q, c, c.unusable); err != nil {
			return nil, err
		}
	}
	return some, nil
}

// count is what sending rows would do.
func (r *replay) count(ctx context.Context, q *replayed, rows []found) error {
	states, err := q.states(ctx, rows)
	for i, s := range states {
		switch {
		case s != store.StateNone:
			q.Known++
		case rows[i].state == stateDead:
			q.Dead++
		default:
			q.Sent++
		}
	}
	return err
}

func (r *replay) sendSome(ctx context.Context, q *replayed, rows []carried) error {
	from, err := r.usable(ctx, q, rows)
	if err != nil {
		return err
	}
	var adds []store.Add
	for i := range from {
		c := &from[i]
		add := c.add(q.number)
		if c.state == stateDead {
			add.Job.At = time.Time{}
			add.Back = &store.Back{State: store.DeadState, At: time.Now(), EnqueuedAt: c.born}
		}
		adds = append(adds, add)
	}
	said, err := q.deliver(ctx, adds)
	if err != nil {
		return err
	}
	return r.sort(ctx, q, from, said)
}

// deliver sends jobs, which are spilled where the queue is full, or events, and looks whether Redis lost data again.
func (q *replayed) deliver(ctx context.Context, adds []store.Add) ([]store.Enqueued, error) {
	boundary.At(ctx, "replay read")
	said, standing, err := q.box.Send(ctx, q.number, adds, true)
	if errors.Is(err, store.ErrStranger) { // it knew the outbox when the replay began
		return nil, q.again("it does not know this outbox any more")
	}
	if err == nil && standing.Number != 0 {
		err = q.follow(standing)
	}
	return said, err
}

// sort notes what became of rows that were sent.
func (r *replay) sort(ctx context.Context, q *replayed, from []carried, said []store.Enqueued) error {
	var risen, added []found // dead by their rows, and known to Redis; new to Redis
	for i, e := range said {
		dead := from[i].state == stateDead
		row := found{seq: from[i].seq, id: from[i].id}
		switch {
		case e.Outcome == store.Conflict || errors.Is(e.Err, store.ErrNewer):
			if err := r.aside(ctx, q, from[i], cmp.Or(e.Err, error(waybill.ErrConflict))); err != nil {
				return err
			}
		case e.Err != nil:
			return e.Err
		case e.Outcome == store.Duplicate:
			q.Known++
			if dead {
				risen = append(risen, row)
			}
		case dead:
			q.Dead++
			added = append(added, row)
		default:
			q.Sent++
			added = append(added, row)
		}
	}
	if err := r.overtaken(ctx, q, added); err != nil {
		return err
	}
	return r.raise(ctx, q, risen)
}

// overtaken ends jobs that are new to Redis though their rows have ended since they were read: where nothing is lost a relay
// may have read, and taken away, the word that was the last to know them. The queue is paused, so none of them runs.
func (r *replay) overtaken(ctx context.Context, q *replayed, rows []found) error {
	if len(rows) == 0 {
		return nil
	}
	seqs := make([]int64, len(rows))
	for i, w := range rows {
		seqs[i] = w.seq
	}
	var over []string
	err := r.o.each(ctx, r.o.plain(), func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		over = append(over, id)
		return err
	}, "over", listOf(seqs))
	if err != nil || len(over) == 0 {
		return r.o.named(err)
	}
	_, _, err = q.end(ctx, over, nil)
	return err
}

// raise notes of rows whose jobs are dead by them, and live in an older copy of Redis, that they live. Where relays mark
// rows meanwhile nothing is lost, and they know better.
func (r *replay) raise(ctx context.Context, q *replayed, rows []found) error {
	if len(rows) == 0 {
		return nil
	}
	before, err := r.o.queueRow(ctx, q.Queue)
	if err != nil {
		return err
	}
	states, err := q.states(ctx, rows)
	if err != nil {
		return err
	}
	var live []int64
	for i, s := range states {
		if lives(s) {
			live = append(live, rows[i].seq)
		}
	}
	if len(live) == 0 {
		return nil
	}
	return r.o.named(r.o.short(ctx, func(ctx context.Context, s Session) error {
		n, err := r.o.change(ctx, s, "queue_turn", q.Queue, before.turn, before.epoch)
		if err != nil || n == 0 {
			return err
		}
		_, err = r.o.change(ctx, s, "live", listOf(live))
		return err
	}))
}

func (r *replay) aside(ctx context.Context, q *replayed, c carried, why error) error {
	statement := "aside_sent"
	if isTopic(q.Queue) {
		statement = "aside_published"
	}
	_, err := r.o.change(ctx, r.o.plain(), statement, cutTo(why.Error(), maxReason), c.seq)
	q.SetAside++
	return r.o.named(err)
}
