package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/internal/store"
)

// sendTime bounds one call to Redis, while rows are locked.
const sendTime = 2 * time.Second

// Pauses after a queue was found full: doubling.
const (
	leastFull = 50 * time.Millisecond
	mostFull  = time.Second
)

// carry is a round of the sender: one batch for each queue that has rows to be sent.
func (r *relay) carry(ctx context.Context) (pause time.Duration, bell <-chan struct{}, err error) {
	pause = r.o.o.Poll
	var queues []string
	err = r.o.each(ctx, r.o.plain(), func(scan func(...any) error) error {
		var q string
		err := scan(&q)
		queues = append(queues, q)
		return err
	}, "waiting")
	if err != nil {
		return 0, nil, r.o.named(err)
	}
	for _, q := range queues {
		took, again, err := r.serve(ctx, q)
		switch {
		case errors.Is(err, ErrLost): // told when it was noticed
		case redisFailed(err):
			r.failed(q, err) // others are served
		case err != nil:
			return 0, nil, fmt.Errorf("queue %s: %w", q, err)
		case again:
			pause = min(pause, took)
		}
	}
	return pause, r.o.kick, nil
}

// redisFailed tells the errors of a queue's Redis from those of the database.
func redisFailed(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrCrowded)
}

// serve sends one batch of a queue's rows. again says that there may be more, after a pause.
func (r *relay) serve(ctx context.Context, queue string) (pause time.Duration, again bool, err error) {
	l, err := r.lane(ctx, queue)
	if err != nil {
		return 0, false, err
	}
	if time.Now().Before(l.notTill) {
		return 0, false, nil
	}
	before, number, err := r.enter(ctx, l)
	if redisFailed(err) {
		l.pause()
	}
	if err != nil {
		return 0, false, err
	}
	b := &batch{r: r, l: l, before: before, number: number}
	if r.o.d == SQLite {
		return b.unlocked(ctx)
	}
	err = r.o.short(ctx, func(ctx context.Context, s Session) error {
		var err error
		if b.rows, b.whole, err = r.o.claim(ctx, s, queue); err != nil || len(b.rows) == 0 {
			return err
		}
		boundary.At(ctx, "rows locked")
		b.send(ctx)
		return b.mark(ctx, s)
	})
	return 0, b.whole && b.full == 0, b.end(ctx, err)
}

// unlocked serves on SQLite, where one lock is all there is: nothing holds it while rows are sent, and it is held for at
// most a tenth of the time. Two relays may send one row; it is one job.
func (b *batch) unlocked(ctx context.Context) (pause time.Duration, again bool, err error) {
	o := b.r.o
	if b.rows, b.whole, err = o.claim(ctx, o.plain(), b.before.name); err != nil || len(b.rows) == 0 {
		return 0, false, o.named(err)
	}
	boundary.At(ctx, "rows locked")
	b.send(ctx)
	began := time.Now()
	err = o.short(ctx, b.mark)
	return 9 * time.Since(began), b.whole && b.full == 0, b.end(ctx, err)
}

// batch is a number of rows on their way to one queue.
type batch struct {
	r      *relay
	l      *lane
	before queueRow // before the call
	number byte
	rows   []carried
	whole  bool // there may be more

	sent     []int64
	aside    map[int64]error
	full     int // rows that found the queue full
	standing store.Standing
	err      error // of the call
}

// send sends the rows, in order, and notes what became of each.
func (b *batch) send(ctx context.Context) {
	b.aside = map[int64]error{}
	short, stop := context.WithTimeout(ctx, sendTime)
	defer stop()
	for rows := b.rows; len(rows) > 0 && b.err == nil; {
		n := alike(rows)
		b.sendSome(short, rows[:n])
		rows = rows[n:]
	}
	boundary.At(ctx, "answer read")
}

// alike is how many rows from the first on can go in one call.
func alike(rows []carried) int {
	for i, c := range rows {
		if c.draft.Spill != rows[0].draft.Spill {
			return i
		}
	}
	return len(rows)
}

func (b *batch) sendSome(ctx context.Context, rows []carried) {
	var adds []store.Add
	var seqs []int64
	for i := range rows {
		if c := &rows[i]; c.unusable != nil {
			b.aside[c.seq] = c.unusable
		} else {
			adds, seqs = append(adds, c.add(b.number)), append(seqs, c.seq)
		}
	}
	if len(adds) == 0 {
		return
	}
	said, standing, err := b.l.box.Send(ctx, b.number, adds, rows[0].draft.Spill)
	if b.err = err; err != nil {
		return
	}
	b.standing = standing
	for i, e := range said {
		switch {
		case errors.Is(e.Err, store.ErrNewer):
			b.aside[seqs[i]] = e.Err
		case e.Err != nil:
			b.err = e.Err
		case e.Outcome == store.Full:
			b.full++
		case e.Outcome == store.Conflict:
			b.aside[seqs[i]] = fmt.Errorf("%w, or it came another way than by this outbox", waybill.ErrConflict)
		default:
			b.sent = append(b.sent, seqs[i])
		}
	}
}

// mark writes what became of the rows, in their transaction.
func (b *batch) mark(ctx context.Context, s Session) error {
	o := b.r.o
	if len(b.sent) > 0 {
		if _, err := o.change(ctx, s, "sent", listOf(b.sent)); err != nil {
			return err
		}
	}
	for seq, why := range b.aside {
		if _, err := o.change(ctx, s, "aside", cutTo(why.Error(), maxReason), seq); err != nil {
			return err
		}
	}
	if n := b.standing; n.Sent > b.before.sent {
		if _, err := o.change(ctx, s, "queue_raise", n.Sent, n.Told, b.before.name, b.before.epoch); err != nil {
			return err
		}
	}
	boundary.At(ctx, "rows marked")
	return nil
}

// maxReason bounds the reason for which a row was set aside, in bytes.
const maxReason = 1000

func cutTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

// end tells what a batch did, after its transaction, whose error is err.
func (b *batch) end(ctx context.Context, err error) error {
	o, l := b.r.o, b.l
	if err != nil {
		return o.named(err)
	}
	boundary.At(ctx, "rows committed")
	queue := b.before.name
	if len(b.sent) > 0 {
		o.tell(Event{Type: EventSent, Queue: queue, Rows: len(b.sent)})
	}
	for _, c := range b.rows {
		if why := b.aside[c.seq]; why != nil {
			o.o.Log.Warn("outbox: a row was set aside", slog.String(keyQueue, queue), slog.String(keyJob, c.id),
				slog.String(keyError, why.Error()))
			o.tell(Event{Type: EventSetAside, Queue: queue, ID: c.id, Err: why})
		}
	}
	b.pace()
	if redisFailed(b.err) {
		l.pause()
		return b.err
	}
	l.failing = 0
	if errors.Is(b.err, store.ErrStranger) {
		l.stranger() // the next round enters, and compares
		return nil
	}
	if b.err != nil || b.standing.Number == 0 {
		return b.err
	}
	return b.r.compare(ctx, l, b.before, b.standing)
}

// pause lets a queue be after a call failed.
func (l *lane) pause() {
	l.failing = min(max(2*l.failing, leastPause), mostPause)
	l.notTill = time.Now().Add(l.failing/2 + rand.N(l.failing))
}

// pace lets a full queue be for a while.
func (b *batch) pace() {
	l, o := b.l, b.r.o
	if b.full == 0 {
		l.full, l.notTill = 0, time.Time{}
		return
	}
	if l.full == 0 {
		o.o.Log.Warn("outbox: the queue is full, its rows wait", slog.String(keyQueue, b.before.name), slog.Int(keyRows, b.full))
		o.tell(Event{Type: EventFull, Queue: b.before.name, Rows: b.full})
	}
	if len(b.sent) > 0 { // there is room now and then
		l.full = leastFull
	} else {
		l.full = min(max(2*l.full, leastFull), mostFull)
	}
	l.notTill = time.Now().Add(l.full)
}
