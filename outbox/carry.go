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
			return 0, nil, fmt.Errorf("queue %s: %w", q, err)
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
	full     int // rows that found the queue full
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

// pace lets a full queue be for a while, and claims no more of its rows than there may be room for.
func (b *batch) pace() {
	l, o := b.l, b.r.o
	if b.full == 0 {
		l.full, l.notTill, l.room = 0, time.Time{}, min(4*l.room, batchRows)
		return
	}
	if time.Since(l.toldFull) > complainTime {
		l.toldFull = time.Now()
		o.o.Log.Warn("outbox: the queue is full, its rows wait", slog.String(keyQueue, b.before.name))
		o.tell(Event{Type: EventFull, Queue: b.before.name})
	}
	l.full, l.room = min(max(2*l.full, leastFull), mostFull), leastRoom
	if n := len(b.sent); n > 0 {
		l.full, l.room = leastFull, min(max(4*n, leastRoom), batchRows)
	}
	l.notTill = time.Now().Add(l.full)
}
