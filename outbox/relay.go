package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// Relay carries rows to Redis, and back what became of their jobs, until ctx ends; then it returns nil when the round under
// way is over. Any number of relays may run, in one process or many. The database or Redis being away is no error: it is
// told (Options.Observe, Options.Log) and tried again. Errors: ErrNoTable, ErrInvalid.
//
// A full queue keeps its own rows waiting and no other's; so does a topic that is full, or has no subscription and no bound. A row that can't be sent (its ID is taken by other work, or its
// body is not readable) is set aside with the reason: see SetAside and Retry. Where Redis lost data of a queue, nothing more
// is sent there until Replay: see ErrLost.
func (o *Outbox) Relay(ctx context.Context, c *waybill.Client) error {
	if c == nil {
		return invalid("client", "is nil")
	}
	r := &relay{o: o, c: c, over: ctx.Done(), lanes: map[string]*lane{}, troubles: map[string]trouble{}}
	err := r.begin(ctx)
	if r.stopped() { // the error may be that of a statement which that ended
		return nil
	}
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	all.Go(func() { r.repeat(ctx, r.carry) })
	all.Go(func() { r.repeat(ctx, r.hear) })
	all.Wait()
	return nil
}

// relay is one run of Relay.
type relay struct {
	o    *Outbox
	c    *waybill.Client
	name string // of the outbox
	over <-chan struct{}

	lagged, purged, noted time.Time // when that was last done
	read                  []string  // queues that were read in this round

	mu       sync.Mutex
	lanes    map[string]*lane
	troubles map[string]trouble // by queue; "" = the database
}

// lane is a queue as a relay knows it.
type lane struct {
	box *store.Outbox

	mu     sync.Mutex
	row    queueRow
	number byte // 0 = not asked for yet

	full     time.Duration // the pause after the queue was found full; 0 = it was not
	room     int           // rows that are claimed at once, below batchRows after it was full; 0 = batchRows
	toldFull time.Time
	failing  time.Duration // the pause after a call failed; 0 = it did not
	notTill  time.Time     // nothing is sent before
}

// begin waits for the database and reads the outbox's name.
func (r *relay) begin(ctx context.Context) error {
	for pause := leastPause; ; pause = min(2*pause, mostPause) {
		var err error
		if r.name, err = r.o.Name(ctx); err == nil || errors.Is(err, ErrNoTable) || ctx.Err() != nil {
			return err
		}
		r.failed("", err)
		wait(ctx, pause, nil)
	}
}

// Pauses after a round that failed: doubling, jittered.
const (
	leastPause = 100 * time.Millisecond
	mostPause  = 5 * time.Second
)

// stepTime bounds what a round does for one queue. It goes on when the relay is told to stop: what was sent is marked.
const stepTime = 15 * time.Second

// step does a part of a round, in a time of its own.
func step(ctx context.Context, f func(context.Context) error) error {
	own, stop := context.WithTimeout(ctx, stepTime)
	defer stop()
	return f(own)
}

// stopped says whether the relay was told to stop.
func (r *relay) stopped() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// rest pauses on SQLite after a transaction, so that the relay holds the one lock for at most a twentieth of the time.
func (r *relay) rest(ctx context.Context, began time.Time) {
	if r.o.d == SQLite {
		wait(ctx, 19*time.Since(began), r.over)
	}
}

// repeat does rounds until ctx ends. A round says how long to wait for the next one, and what may end the wait.
func (r *relay) repeat(ctx context.Context, round func(context.Context) (time.Duration, <-chan struct{}, error)) {
	failed := time.Duration(0)
	for ctx.Err() == nil {
		pause, bell, err := round(context.WithoutCancel(ctx))
		if err == nil {
			failed = 0
			wait(ctx, pause, bell)
			continue
		}
		failed = min(max(2*failed, leastPause), mostPause)
		r.failed("", err)
		wait(ctx, failed/2+rand.N(failed), nil)
	}
}

func wait(ctx context.Context, d time.Duration, bell <-chan struct{}) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-bell:
	}
}

// lane gives a queue, as the database has it.
func (r *relay) lane(ctx context.Context, queue string) (*lane, error) {
	r.mu.Lock()
	l := r.lanes[queue]
	r.mu.Unlock()
	if l != nil {
		return l, nil
	}
	box, err := r.c.Outbox(queue, r.name)
	if err != nil {
		return nil, fmt.Errorf("queue %q: %w", queue, err)
	}
	row, err := r.o.queueRow(ctx, queue)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lanes[queue] == nil {
		r.lanes[queue] = &lane{box: box, row: row}
	}
	return r.lanes[queue], nil
}

// known is what a lane says now; number 0 where it is not known.
func (l *lane) known() (row queueRow, number byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.row, l.number
}

// isLost says whether it is known that the queue's Redis lost data.
func (l *lane) isLost() bool {
	row, _ := l.known()
	return row.lostMS != 0
}

// set takes over what the database has.
func (l *lane) set(row queueRow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if row.epoch != l.row.epoch || row.lostMS != 0 {
		l.number = 0
	} else { // what this relay has seen and not yet written stands
		row.sent, row.told = max(row.sent, l.row.sent), max(row.told, l.row.told)
	}
	l.row = row
}

// enter gives the number under which the queue knows the outbox. It is asked for once, and again after ErrStranger.
func (r *relay) enter(ctx context.Context, l *lane) (row queueRow, number byte, err error) {
	row, number = l.known()
	if err := row.lost(); err != nil || number != 0 {
		return row, number, err
	}
	s, err := l.box.Enter(ctx)
	if err != nil {
		return row, 0, fmt.Errorf("enter %s: %w", titled(row.name), err)
	}
	if err := r.compare(ctx, l, row, s); err != nil {
		return row, 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number = s.Number
	return row, s.Number, nil
}

// compare looks whether a queue's Redis has lost data since before. What has grown is remembered.
func (r *relay) compare(ctx context.Context, l *lane, before queueRow, s store.Standing) error {
	why := before.fell(s)
	if why == "" {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.row.epoch == before.epoch {
			l.row.sent, l.row.told = max(l.row.sent, s.Sent), max(l.row.told, s.Told)
		}
		return nil
	}
	n, err := r.o.change(ctx, r.o.plain(), "queue_lost", why, before.name, before.epoch)
	if err != nil {
		return r.o.named(err)
	}
	row, err := r.o.queueRow(ctx, before.name)
	if err != nil {
		return err
	}
	l.set(row)
	lost := row.lost()
	if n > 0 && lost != nil {
		r.o.o.Log.Error("outbox: redis lost data, nothing is sent there: run waybill outbox replay", slog.String(keyQueue, row.name),
			slog.String(keyError, row.why))
		r.o.tell(Event{Type: EventLost, Queue: row.name, Err: lost})
	}
	if lost == nil { // it was replayed meanwhile
		return fmt.Errorf("%s was replayed meanwhile", titled(row.name))
	}
	return lost
}

// stranger forgets the number of a queue that did not know it.
func (l *lane) stranger() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number = 0
}
