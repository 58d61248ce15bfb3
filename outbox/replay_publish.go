package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// roomPause is how long a replay waits where a topic is full.
const roomPause = 100 * time.Millisecond

// notice looks whether the Redis of a topic lost data, and writes it down where no relay has: a replay that is broken off
// goes on with the topic then, though what it sent has raised the numbers.
func (r *replay) notice(ctx context.Context, q *replayed) error {
	if q.lost = q.row.lostMS != 0; q.lost {
		return nil
	}
	s, err := q.box.Look(ctx)
	if err != nil {
		return fmt.Errorf("look at %s: %w", titled(q.Queue), err)
	}
	why := q.row.fell(s)
	if q.lost = why != ""; !q.lost {
		return nil
	}
	_, err = r.o.change(ctx, r.o.plain(), "queue_lost", why, q.Queue, q.row.epoch)
	return r.o.named(err)
}

// publish publishes the events of topics that lost data again, in the order of their rows.
func (r *replay) publish(ctx context.Context) error {
	some := false
	for _, q := range r.queues {
		some = some || isTopic(q.Queue) && q.lost
	}
	if !some {
		return nil
	}
	return r.walk(ctx, "ended", func(ctx context.Context, q *replayed, rows []found) error {
		switch {
		case !isTopic(q.Queue) || !q.lost || q.Held != "":
			return nil
		case r.ro.DryRun:
			q.Sent += int64(len(rows)) // those that Redis knows are not known before
			return nil
		}
		sizes := make([]sized, len(rows))
		for i, w := range rows {
			sizes[i] = sized{w.seq, w.bytes}
		}
		return r.pages(ctx, sizes, func(ctx context.Context, some []carried) error { return r.publishSome(ctx, q, some) })
	})
}

// publishSome publishes the events of some rows, and waits for room where the topic is full.
func (r *replay) publishSome(ctx context.Context, q *replayed, rows []carried) error {
	for len(rows) > 0 && q.Held == "" {
		usable, err := r.usable(ctx, q, rows)
		if err != nil || len(usable) == 0 {
			return err
		}
		adds := make([]store.Add, len(usable))
		for i := range usable {
			adds[i] = usable[i].add(q.number)
		}
		said, err := q.deliver(ctx, adds)
		if err != nil {
			return err
		}
		if rows, err = r.published(ctx, q, usable, said); err != nil {
			return err
		}
		if len(rows) > 0 {
			wait(ctx, roomPause, nil)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// published notes what became of rows that were sent, and gives those for which there was no room.
func (r *replay) published(ctx context.Context, q *replayed, from []carried, said []store.Enqueued) (left []carried, err error) {
	for i, e := range said {
		switch {
		case e.Outcome == store.Conflict || errors.Is(e.Err, store.ErrNewer):
			err = r.aside(ctx, q, from[i], cmp.Or(e.Err, error(waybill.ErrConflict)))
		case e.Err != nil:
			err = e.Err
		case e.Outcome == store.Nobody:
			q.Held = noSubscription
		case e.Outcome == store.Full:
			left = append(left, from[i])
		case e.Outcome == store.Duplicate:
			q.Known++
		default:
			q.Sent++
		}
		if err != nil {
			return nil, err
		}
	}
	return left, nil
}
