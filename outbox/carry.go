package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/store"
)

// sendTime bounds the calls to Redis for one batch, while rows are locked.
const sendTime = 2 * time.Second

// claimTime is how long after rows were read they may be sent. A relay that stood still for longer sends nothing: others may
// have sent the rows, and their jobs have ended so long ago that the queue does not know them any more.
const claimTime = ownIdle - time.Second

// Pauses after a queue was found full: short as long as it takes some rows, else doubling; and the fewest rows that are
// claimed then, as for most of them there would be no room.
const (
	leastFull = 10 * time.Millisecond
	mostFull  = time.Second
	leastRoom = 16
)

// carry is a round of the sender: one batch for each queue that has rows to be sent.
func (r *relay) carry(ctx context.Context) (pause time.Duration, bell <-chan struct{}, err error) {
	pause = r.o.o.Poll
	queues, err := r.waiting(ctx)
	if err != nil {
		return 0, nil, err
	}
	for _, q := range queues {
		if r.stopped() {
			break
		}
		var again bool
		err := step(ctx, func(ctx context.Context) (err error) {
			again, err = r.serve(ctx, q)
			return err
		})
		switch {
		case errors.Is(err, ErrLost): // told when it was noticed
		case err != nil && r.o.away(err):
			return 0, nil, fmt.Errorf("%s: %w", titled(q), err)
		case err != nil:
			r.refused(q, err) // others are served
		case again:
			pause = 0
		default:
			pause = min(pause, r.room(q))
		}
	}
	return pause, r.o.kick, nil
}

// room is how long a queue that was full is let be; the pause of an idle relay where it was not.
func (r *relay) room(queue string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.lanes[queue]; l != nil && l.full > 0 {
		return max(time.Millisecond, time.Until(l.notTill))
	}
	return r.o.o.Poll
}

// waiting are the queues that have rows to be sent.
func (r *relay) waiting(ctx context.Context) (queues []string, err error) {
	read := func(scan func(...any) error) error {
		var q string
		err := scan(&q)
		queues = append(queues, q)
		return err
	}
	err = step(ctx, func(ctx context.Context) error {
		if r.o.d.Family() != string(MariaDB) {
			return r.o.each(ctx, r.o.plain(), read, "waiting")
		}
		for from, n := "", -1; len(queues) > n; { // it tells one at a time
			n = len(queues)
			if err := r.o.each(ctx, r.o.plain(), read, "waiting", from); err != nil {
				return err
			}
			if len(queues) > n {
				from = queues[n] + "\x00" // the next one that there can be
			}
		}
		return nil
	})
	return queues, r.o.named(err)
}

// away says whether an error of the database's concerns every queue: it is not there, or has no tables.
func (o *Outbox) away(err error) bool {
	f := o.d.Fault(err)
	return !redisFailed(err) && (f == dialect.Lost || f == dialect.Missing)
}

// refused tells an error that concerns one queue, and lets it be for a while.
func (r *relay) refused(queue string, err error) {
	r.mu.Lock()
	l := r.lanes[queue]
	r.mu.Unlock()
	if l != nil {
		l.pause()
	}
	r.failed(queue, err)
}

// redisFailed tells the errors of a queue's Redis from those of the database.
func redisFailed(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrCrowded)
}

// serve sends one batch of a queue's rows. again says that there may be more.
func (r *relay) serve(ctx context.Context, queue string) (again bool, err error) {
	l, err := r.lane(ctx, queue)
	if errors.Is(err, ErrInvalid) {
		return false, r.asideQueue(ctx, queue, err)
	}
	if err != nil || time.Now().Before(l.notTill) {
		return false, err
	}
	before, number, err := r.enter(ctx, l)
	if err != nil {
		return false, err
	}
	b := &batch{r: r, l: l, before: before, number: number, till: time.Now().Add(claimTime)}
	if r.o.d == SQLite {
		return b.unlocked(ctx)
	}
	err = r.o.short(ctx, func(ctx context.Context, s Session) error {
		if err := b.claim(ctx, s); err != nil || len(b.rows) == 0 {
			return err
		}
		boundary.At(ctx, "rows locked")
		if err := b.refresh(ctx, s); err != nil || len(b.rows) == 0 {
			return err
		}
		b.send(ctx)
		return b.mark(ctx, s)
	})
	return b.end(ctx, err)
}

// asideQueue sets the rows of a queue aside that can be none.
func (r *relay) asideQueue(ctx context.Context, queue string, why error) error {
	n, err := r.o.change(ctx, r.o.plain(), "aside_queue", cutTo(why.Error(), maxReason), queue)
	if err != nil {
		return r.o.named(err)
	}
	r.o.o.Log.Warn("outbox: rows were set aside", slog.String(keyQueue, queue), slog.Int64(keyRows, n),
		slog.String(keyError, why.Error()))
	r.o.tell(Event{Type: EventSetAside, Queue: queue, Rows: int(n), Err: why})
	return nil
}

// unlocked serves on SQLite, where one lock is all there is: nothing holds it while rows are sent. Two relays may send one
// row; it is one job.
func (b *batch) unlocked(ctx context.Context) (again bool, err error) {
	o := b.r.o
	if err := b.claim(ctx, o.plain()); err != nil || len(b.rows) == 0 {
		return false, o.named(err)
	}
	boundary.At(ctx, "rows locked")
	if err := b.refresh(ctx, o.plain()); err != nil || len(b.rows) == 0 {
		return false, o.named(err)
	}
	b.send(ctx)
	began := time.Now()
	err = o.short(ctx, b.mark)
	defer b.r.rest(ctx, began)
	return b.end(ctx, err)
}
