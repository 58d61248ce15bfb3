package outbox

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/internal/store"
)

// batch is a number of rows on their way to one queue.
type batch struct {
	r      *relay
	l      *lane
	before queueRow // before the call
	number byte
	rows   []carried
	whole  bool      // there may be more
	keyed  bool      // some have a key: behind them others may wait
	till   time.Time // nothing is sent after

	sent     []int64
	aside    map[int64]error
	full     int  // rows that found the queue full
	nobody   bool // they are events, and nobody subscribes
	standing store.Standing
	err      error // of the call
}

// refresh reads what other relays have marked, just before rows are sent: what they know and this relay does not would else
// be hidden by what it sends to a Redis that lost data. Without rows nothing is to be sent: the queue was replayed.
func (b *batch) refresh(ctx context.Context, s Session) error {
	name := b.before.name
	err := b.r.o.readQueues(ctx, s, func(q queueRow) { b.l.set(q) }, "queue", name)
	if err != nil {
		return err
	}
	var number byte
	if b.before, number = b.l.known(); number == 0 {
		b.rows, b.whole, b.keyed = nil, false, false
	}
	return b.before.lost()
}

// errMeanwhile says why rows that were sent are not marked.
var errMeanwhile = errors.New("it was replayed while rows were sent: they are sent again")

// hold keeps the queue as it is until the rows are marked. Rows that were sent before a replay, by a relay that stood still
// since, may not be in Redis any more, and no replay would look at them again.
func (b *batch) hold(ctx context.Context, s Session) error {
	var now queueRow
	if err := b.r.o.readQueues(ctx, s, func(q queueRow) { now = q }, "queue_held", b.before.name); err != nil {
		return err
	}
	if now.epoch != b.before.epoch {
		return errMeanwhile
	}
	return now.lost()
}

// send sends the rows, in order, and notes what became of each.
func (b *batch) send(ctx context.Context) {
	b.aside = map[int64]error{}
	short, stop := context.WithDeadline(ctx, b.till)
	defer stop()
	short, stopped := context.WithTimeout(short, sendTime)
	defer stopped()
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
	if b.standing.Number != 0 { // of calls of one batch, the first one shows a fall
		standing.Before = min(standing.Before, b.standing.Before)
	}
	b.standing = standing
	for i, e := range said {
		switch {
		case errors.Is(e.Err, store.ErrNewer):
			b.aside[seqs[i]] = e.Err
		case e.Err != nil:
			b.err = e.Err
		case e.Outcome == store.Full, e.Outcome == store.Nobody:
			b.full++
			b.nobody = b.nobody || e.Outcome == store.Nobody
		case e.Outcome == store.Conflict:
			b.aside[seqs[i]] = conflictIn(b.before.name)
		default:
			b.sent = append(b.sent, seqs[i])
		}
	}
}

// mark writes what became of the rows, in their transaction.
func (b *batch) mark(ctx context.Context, s Session) error {
	o := b.r.o
	if len(b.sent) > 0 {
		if err := o.markSent(ctx, s, b.before.name, b.sent); err != nil {
			return err
		}
	}
	for seq, why := range b.aside {
		if _, err := o.change(ctx, s, "aside", cutTo(why.Error(), maxReason), seq); err != nil {
			return err
		}
	}
	if n := b.standing; len(b.sent) > 0 {
		if err := b.hold(ctx, s); err != nil {
			return err
		}
		// What this relay knows already need not stand there: who sent it may have died.
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

// end tells what a batch did, after its transaction, whose error is err. again says that there may be more to send.
func (b *batch) end(ctx context.Context, err error) (again bool, _ error) {
	o, l := b.r.o, b.l
	if err != nil {
		return false, o.named(err)
	}
	boundary.At(ctx, "rows committed")
	b.report()
	b.pace()
	stranger := errors.Is(b.err, store.ErrStranger)
	if b.err != nil && !stranger {
		return false, b.err
	}
	l.failing = 0
	if stranger {
		l.stranger() // the next round enters, and compares
		return false, nil
	}
	again = b.full == 0 && (b.whole || b.keyed && len(b.sent) > 0)
	if b.standing.Number == 0 {
		return again, nil
	}
	return again, b.r.compare(ctx, l, b.before, b.standing)
}

// report tells the observer of the rows.
func (b *batch) report() {
	o, queue := b.r.o, b.before.name
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
}

// pause lets a queue be after a call failed.
func (l *lane) pause() {
	l.failing = min(max(2*l.failing, leastPause), mostPause)
	l.notTill = time.Now().Add(l.failing/2 + rand.N(l.failing))
}

// complain tells why rows wait.
func (b *batch) complain() {
	o, queue := b.r.o, b.before.name
	if b.nobody {
		o.o.Log.Warn("outbox: the topic has no subscription and no bound, its rows wait: start a worker that subscribes",
			slog.String(keyQueue, queue))
		o.tell(Event{Type: EventNoSubscription, Queue: queue, Err: waybill.ErrNoSubscription})
		return
	}
	o.o.Log.Warn("outbox: the queue is full, its rows wait", slog.String(keyQueue, queue))
	o.tell(Event{Type: EventFull, Queue: queue})
}

// pace lets a full queue be for a while, and claims no more of its rows than there may be room for.
func (b *batch) pace() {
	l := b.l
	if b.full == 0 {
		l.full, l.notTill, l.room = 0, time.Time{}, min(4*l.room, batchRows)
		return
	}
	if time.Since(l.toldFull) > complainTime {
		l.toldFull = time.Now()
		b.complain()
	}
	l.full, l.room = min(max(2*l.full, leastFull), mostFull), leastRoom
	if n := len(b.sent); n > 0 {
		l.full, l.room = leastFull, min(max(4*n, leastRoom), batchRows)
	}
	l.notTill = time.Now().Add(l.full)
}
