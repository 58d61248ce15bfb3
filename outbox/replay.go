package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/internal/store"
)

// ReplayOptions of Replay; the zero value replays every queue that is known to have lost data.
type ReplayOptions struct {
	Queues []string       // these, lost or not; nil = those of which it was noticed that Redis lost data
	DryRun bool           // count only: nothing is changed, nothing is paused
	Told   func(Replayed) // hears of each step, on the caller's goroutine; nil = nobody
}

// Replayed is what Replay has done to one queue, or with DryRun would do.
type Replayed struct {
	Queue string
	// Buried are jobs that Redis had waiting, or dead, though their rows say that they have ended: deleted there. Cancelled
	// are those that were running: they were asked to end.
	Buried, Cancelled int64
	Sent              int64 // unfinished jobs that Redis did not have; events that were published again
	Dead              int64 // dead jobs that it did not have: dead there again
	Known             int64 // unfinished and dead jobs that it had
	SetAside          int64 // rows that it refused, as their IDs are taken by other work
	Done              bool  // the relay sends there again
	// Held is why the topic takes no events; it is not done then. "" = it does, or Queue is no topic.
	Held string
}

// Replay brings a queue of which Redis lost data to what the database knows. It pauses the queue; first it buries: jobs that
// an older copy of Redis has and whose rows say that they ended are deleted, those that run are cancelled; then it sends all
// unfinished jobs under their IDs, and dead ones back to the dead; then it resumes the queue, unless
// somebody had paused it before, and lets the relay go on. Receipts suppress what was done already. What was acked, cancelled or deleted just
// before the loss, and not yet read by a relay (Options.Read), returns, and a job that was moved to another queue does not.
// The queue's settings are lost with its Redis, a capacity too: set them before. Where the queue is full, jobs are spilled.
//
// A topic ("topic:NAME") has no jobs that could be unfinished: where Redis lost data, all its events that have rows yet are
// published again, under their IDs, in the order of their rows. So make its settings and all its subscriptions first: one that
// is made later misses what the others have taken. Subscriptions that know an event, by a copy of Redis that has it within
// the window, take it as a duplicate; else it is delivered again, and receipts suppress what was done, as it is as old as its
// row. Nothing is paused. A topic that is full is waited for; one that nobody subscribes to is not done: the others are, and
// then it is an ErrNoSubscription. A topic that lost nothing is left as it is, also where it is named: its older events would
// come twice.
//
// It may be broken off and repeated, and it does no harm to a queue that lost nothing. Errors: ErrInvalid, ErrNoTable, ErrLost
// (Redis lost data again meanwhile: replay once more), waybill.ErrNoSubscription, waybill.ErrUnavailable, waybill.ErrUnknown, else the database's; what
// was replayed before is told.
func (o *Outbox) Replay(ctx context.Context, c *waybill.Client, ro ReplayOptions) ([]Replayed, error) {
	if c == nil {
		return nil, invalid("client", "is nil")
	}
	r := &replay{o: o, c: c, ro: ro, queues: map[string]*replayed{}}
	err := r.open(ctx)
	for _, step := range []func(context.Context) error{r.pause, r.bury, r.send, r.publish, r.close} {
		if err == nil {
			err = step(ctx)
		}
	}
	var out []Replayed
	for _, name := range r.order {
		out = append(out, r.queues[name].Replayed)
	}
	return out, err
}

// replay is one run of Replay.
type replay struct {
	o      *Outbox
	c      *waybill.Client
	ro     ReplayOptions
	queues map[string]*replayed
	order  []string
}

// replayed is a queue that is replayed.
type replayed struct {
	Replayed

	row    queueRow
	box    *store.Outbox
	number byte
	paused bool // by Replay
	lost   bool // a topic that lost data

	sent, told int64 // the highest numbers that Redis gave since the replay began
}

// follow notes what Redis says of the queue. A number that fell since the replay began says that it lost data again.
func (q *replayed) follow(s store.Standing) error {
	if s.Number != q.number {
		return q.again("it does not know this outbox any more")
	}
	if why := (queueRow{sent: q.sent, told: q.told}).fell(s); why != "" {
		return q.again(why)
	}
	q.sent, q.told = s.Sent, s.Told
	return nil
}

// again says that Redis lost data in mid-replay.
func (q *replayed) again(why string) error {
	return fmt.Errorf("%s lost data again while it was replayed, %s: replay it once more: %w", titled(q.Queue), why, ErrLost)
}

// pausedBy says who has paused a queue.
const pausedBy = "outbox replay"

// open finds the queues.
func (r *replay) open(ctx context.Context) error {
	name, err := r.o.Name(ctx)
	if err != nil {
		return err
	}
	rows, err := r.o.queueRows(ctx)
	if err != nil {
		return err
	}
	names := slices.Clone(r.ro.Queues)
	for _, row := range rows {
		if r.ro.Queues == nil && row.lostMS != 0 {
			names = append(names, row.name)
		}
	}
	slices.Sort(names)
	for _, queue := range slices.Compact(names) {
		if _, known := rows[queue]; !known {
			return invalid("queue", "%q has nothing of this outbox", queue)
		}
		box, err := r.c.Outbox(queue, name)
		if err != nil {
			return err
		}
		r.queues[queue] = &replayed{Replayed: Replayed{Queue: queue}, row: rows[queue], box: box}
		r.order = append(r.order, queue)
	}
	return nil
}

// pause pauses the queues and enters them.
func (r *replay) pause(ctx context.Context) error {
	if r.ro.DryRun {
		return r.look(ctx)
	}
	for _, q := range r.queues {
		ready := r.pauseQueue
		if isTopic(q.Queue) {
			ready = r.notice
		}
		if err := ready(ctx, q); err != nil {
			return err
		}
		standing, err := q.box.Enter(ctx)
		if err != nil {
			return fmt.Errorf("enter %s: %w", titled(q.Queue), err)
		}
		q.number, q.sent, q.told = standing.Number, standing.Sent, standing.Told
	}
	return nil
}

// pauseQueue pauses a queue, unless somebody else has.
func (r *replay) pauseQueue(ctx context.Context, q *replayed) error {
	s, err := r.c.Queue(q.Queue).Stats(ctx)
	if err != nil {
		return err
	}
	if q.paused = s.PausedBy == "" || s.PausedBy == pausedBy; !q.paused {
		return nil
	}
	return r.c.Queue(q.Queue).Pause(ctx, pausedBy)
}

// look asks under which numbers the queues know the outbox.
func (r *replay) look(ctx context.Context) error {
	for _, q := range r.queues {
		s, err := q.box.Look(ctx)
		if err != nil {
			return fmt.Errorf("look at %s: %w", titled(q.Queue), err)
		}
		q.number = s.Number
		q.lost = q.row.lostMS != 0 || q.row.fell(s) != ""
	}
	return nil
}

// close lets the relays and the queues go on.
func (r *replay) close(ctx context.Context) error {
	if r.ro.DryRun {
		return nil
	}
	var held error
	for _, name := range r.order {
		q := r.queues[name]
		if q.Held != "" {
			held = errors.Join(held, fmt.Errorf("%s: make all its subscriptions, then replay: %w", titled(name), waybill.ErrNoSubscription))
			continue
		}
		if q.paused { // before the queue is found again: a replay that is broken off between stays due, and nothing stays paused
			if err := r.c.Queue(name).Resume(ctx); err != nil {
				return err
			}
		}
		if err := r.find(ctx, q); err != nil {
			return err
		}
		q.Done = true
		r.tell(q)
	}
	return held
}

// find notes that a queue is found again, as it stands now.
func (r *replay) find(ctx context.Context, q *replayed) error {
	boundary.At(ctx, "replay sent")
	s, err := q.box.Look(ctx)
	if err == nil {
		err = q.follow(s)
	}
	if err != nil {
		return err
	}
	n, err := r.o.change(ctx, r.o.plain(), "queue_found", s.Sent, s.Told, q.Queue, q.row.epoch)
	if err != nil || n > 0 {
		return r.o.named(err)
	}
	now, err := r.o.queueRow(ctx, q.Queue) // another replay has found it; it may be lost again since
	if err != nil {
		return err
	}
	return now.lost()
}

func (r *replay) tell(q *replayed) {
	if r.ro.Told != nil {
		r.ro.Told(q.Replayed)
	}
}

// found is a row of a page.
type found struct {
	seq, bytes int64
	queue, id  string
	state      int
}

// walk reads the rows of a statement page by page, and gives those of each replayed queue to f.
func (r *replay) walk(ctx context.Context, name string, f func(context.Context, *replayed, []found) error) error {
	for last := int64(0); ; {
		rows := map[string][]found{}
		n := 0
		err := r.o.each(ctx, r.o.plain(), func(scan func(...any) error) error {
			var w found
			err := scan(&w.seq, &w.queue, &w.id, &w.state, &w.bytes)
			n, last, rows[w.queue] = n+1, w.seq, append(rows[w.queue], w)
			return err
		}, name, last, batchRows)
		if err != nil {
			return r.o.named(err)
		}
		if n == 0 {
			return nil
		}
		for queue, some := range rows {
			if q := r.queues[queue]; q != nil {
				if err := f(ctx, q, some); err != nil {
					return fmt.Errorf("%s: %w", titled(queue), err)
				}
				r.tell(q)
			}
		}
	}
}
