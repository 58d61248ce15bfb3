package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
	Sent              int64 // unfinished jobs that Redis did not have
	Dead              int64 // dead jobs that it did not have: dead there again
	Known             int64 // unfinished and dead jobs that it had
	SetAside          int64 // rows that it refused, as their IDs are taken by other work
	Done              bool  // the relay sends there again
}

// Replay brings a queue of which Redis lost data to what the database knows. It pauses the queue; first it buries: jobs that
// an older copy of Redis has and whose rows say that they ended are deleted, those that run are cancelled; then it sends all
// unfinished jobs under their IDs, and dead ones back to the dead; then it resumes the queue, unless
// somebody had paused it before, and lets the relay go on. Receipts suppress what was done already. What was acked, cancelled or deleted just
// before the loss, and not yet read by a relay (Options.Read), returns, and a job that was moved to another queue does not.
// The queue's settings are lost with its Redis, a capacity too: set them before. Where the queue is full, jobs are spilled.
//
// It may be broken off and repeated, and it does no harm to a queue that lost nothing. Errors: ErrInvalid, ErrNoTable, ErrLost
// (Redis lost data again meanwhile: replay once more), waybill.ErrUnavailable, waybill.ErrUnknown, else the database's; what
// was replayed before is told.
func (o *Outbox) Replay(ctx context.Context, c *waybill.Client, ro ReplayOptions) ([]Replayed, error) {
	if c == nil {
		return nil, invalid("client", "is nil")
	}
	r := &replay{o: o, c: c, ro: ro, queues: map[string]*replayed{}}
	err := r.open(ctx)
	for _, step := range []func(context.Context) error{r.pause, r.bury, r.send, r.close} {
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

	sent, told int64 // the highest numbers that Redis gave since the replay began
}

// follow notes what Redis says of the queue. A number that fell since the replay began says that it lost data again.
func (q *replayed) follow(s store.Standing) error {
	if why := (queueRow{sent: q.sent, told: q.told}).fell(s); why != "" {
		return fmt.Errorf("queue %s lost data again while it was replayed, %s: replay it once more: %w", q.Queue, why, ErrLost)
	}
	q.sent, q.told = s.Sent, s.Told
	return nil
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
		box, err := r.c.Queue(queue).Outbox(name)
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
		s, err := r.c.Queue(q.Queue).Stats(ctx)
		if err != nil {
			return err
		}
		if q.paused = s.PausedBy == "" || s.PausedBy == pausedBy; q.paused {
			if err := r.c.Queue(q.Queue).Pause(ctx, pausedBy); err != nil {
				return err
			}
		}
		standing, err := q.box.Enter(ctx)
		if err != nil {
			return fmt.Errorf("enter queue %s: %w", q.Queue, err)
		}
		q.number, q.sent, q.told = standing.Number, standing.Sent, standing.Told
	}
	return nil
}

// look asks under which numbers the queues know the outbox.
func (r *replay) look(ctx context.Context) error {
	for _, q := range r.queues {
		s, err := q.box.Look(ctx)
		if err != nil {
			return fmt.Errorf("look at queue %s: %w", q.Queue, err)
		}
		q.number = s.Number
	}
	return nil
}

// close lets the relays and the queues go on.
func (r *replay) close(ctx context.Context) error {
	if r.ro.DryRun {
		return nil
	}
	for _, name := range r.order {
		q := r.queues[name]
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
	return nil
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
					return fmt.Errorf("queue %s: %w", queue, err)
				}
				r.tell(q)
			}
		}
	}
}

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
		for len(sizes) > 0 {
			seqs := fitting(sizes)
			sizes = sizes[len(seqs):]
			some, err := r.o.bodies(ctx, r.o.plain(), seqs)
			if err != nil {
				return r.o.named(err)
			}
			if err := r.sendSome(ctx, q, some); err != nil {
				return err
			}
		}
		return nil
	})
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
	var adds []store.Add
	var from []carried
	for _, c := range rows {
		if c.unusable != nil {
			if err := r.aside(ctx, q, c, c.unusable); err != nil {
				return err
			}
			continue
		}
		add := c.add(q.number)
		if c.state == stateDead {
			add.Job.At = time.Time{}
			add.Back = &store.Back{State: store.DeadState, At: time.Now(), EnqueuedAt: c.born}
		}
		adds, from = append(adds, add), append(from, c)
	}
	said, standing, err := q.box.Send(ctx, q.number, adds, true)
	if errors.Is(err, store.ErrStranger) {
		return q.follow(store.Standing{}) // it knew the outbox when the replay began
	}
	if err == nil && standing.Number != 0 {
		err = q.follow(standing)
	}
	if err != nil {
		return err
	}
	var risen []found // dead by their rows, and known to Redis
	for i, e := range said {
		dead := from[i].state == stateDead
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
				risen = append(risen, found{seq: from[i].seq, id: from[i].id})
			}
		case dead:
			q.Dead++
		default:
			q.Sent++
		}
	}
	return r.raise(ctx, q, risen)
}

// raise notes of rows whose jobs are dead by them, and live in an older copy of Redis, that they live.
func (r *replay) raise(ctx context.Context, q *replayed, rows []found) error {
	if len(rows) == 0 {
		return nil
	}
	states, err := q.states(ctx, rows)
	var live []int64
	for i, s := range states {
		if lives(s) {
			live = append(live, rows[i].seq)
		}
	}
	if err == nil && len(live) > 0 {
		_, err = r.o.change(ctx, r.o.plain(), "live", listOf(live))
		err = r.o.named(err)
	}
	return err
}

func (r *replay) aside(ctx context.Context, q *replayed, c carried, why error) error {
	_, err := r.o.change(ctx, r.o.plain(), "aside_sent", cutTo(why.Error(), maxReason), c.seq)
	q.SetAside++
	return r.o.named(err)
}
