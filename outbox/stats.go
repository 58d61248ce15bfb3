package outbox

import (
	"context"
	"slices"
	"time"
)

// Stats is how an outbox stands.
type Stats struct {
	Name   string       // by which Redis knows it; "" = no relay has run so far
	At     time.Time    // by the database's clock
	Queues []QueueStats // by their names
}

// QueueStats is how the rows of one queue stand. A queue whose rows are all purged is there with zeros.
type QueueStats struct {
	Lag

	Sent     int64 // rows whose jobs are in the queue, and not ended; of a topic, events that were published
	Dead     int64 // rows of dead jobs
	Ended    int64 // rows of jobs that were acked, cancelled or deleted
	SetAside int64 // rows that can't be sent
	// Words of jobs that have no row here. They stay until DropStrangers.
	Strangers  int64
	LostAt     time.Time // when a relay noticed that Redis lost data, by the database's clock; zero = none has
	LostReason string    // how it showed; "" = it did not
}

// Lost gives an ErrLost, of the first such queue, where a relay noticed that Redis lost data and nothing was replayed yet;
// else nil. Look asks Redis itself.
func (s Stats) Lost() error {
	for _, q := range s.Queues {
		if !q.LostAt.IsZero() {
			return queueRow{name: q.Queue, lostMS: q.LostAt.UnixMilli(), why: q.LostReason}.lost()
		}
	}
	return nil
}

// Stats counts all rows: where there are millions that takes seconds. Lag is quick. It writes nothing, so a user who may only
// read will do. Errors: ErrNoTable, ErrRetry, else the database's.
func (o *Outbox) Stats(ctx context.Context) (Stats, error) {
	name, err := o.nameThere(ctx)
	if err != nil {
		return Stats{}, err
	}
	now, err := o.now(ctx)
	if err != nil {
		return Stats{}, err
	}
	all, err := o.queueStats(ctx)
	if err != nil {
		return Stats{}, err
	}
	err = o.each(ctx, o.plain(), func(scan func(...any) error) error {
		var queue string
		var state int
		var n, oldest int64
		err := scan(&queue, &state, &n, &oldest)
		q := at(all, queue)
		switch state {
		case stateNew:
			q.New, q.Oldest = n, time.UnixMilli(oldest)
		case stateSent:
			q.Sent += n
		case stateDead:
			q.Dead = n
		case stateAside:
			q.SetAside = n
		case statePublished:
			if isTopic(queue) {
				q.Sent += n
			} else {
				q.Ended += n
			}
		default:
			q.Ended += n
		}
		return err
	}, "stats")
	return Stats{Name: name, At: time.UnixMilli(now), Queues: sorted(all)}, o.named(err)
}

// Lag tells of each queue how far the relays are behind. Errors: ErrNoTable, ErrRetry, else the database's.
func (o *Outbox) Lag(ctx context.Context) ([]Lag, error) {
	all, err := o.queueStats(ctx)
	if err != nil {
		return nil, err
	}
	err = o.each(ctx, o.plain(), func(scan func(...any) error) error {
		var queue string
		var n, oldest int64
		err := scan(&queue, &n, &oldest)
		q := at(all, queue)
		q.New, q.Oldest = n, time.UnixMilli(oldest)
		return err
	}, "lag")
	var out []Lag
	for _, q := range sorted(all) {
		out = append(out, q.Lag)
	}
	return out, o.named(err)
}

// queueStats is what is kept of the queues.
func (o *Outbox) queueStats(ctx context.Context) (map[string]*QueueStats, error) {
	rows, err := o.queueRows(ctx)
	all := map[string]*QueueStats{}
	for name, row := range rows {
		q := at(all, name)
		q.Unread, q.OldestUnread, q.ReadAt = row.unread, moment(row.oldestMS), moment(row.readMS)
		q.Strangers, q.LostAt, q.LostReason = row.strangers, moment(row.lostMS), row.why
	}
	return all, err
}

func at(all map[string]*QueueStats, queue string) *QueueStats {
	if all[queue] == nil {
		all[queue] = &QueueStats{Lag: Lag{Queue: queue}}
	}
	return all[queue]
}

func sorted(all map[string]*QueueStats) []QueueStats {
	out := make([]QueueStats, 0, len(all))
	for _, q := range all {
		out = append(out, *q)
	}
	slices.SortFunc(out, func(a, b QueueStats) int {
		if a.Queue < b.Queue {
			return -1
		}
		return 1
	})
	return out
}

// moment is a time as the database has it; 0 is none.
func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// tellLag tells the observer the lag, where it is due.
func (r *relay) tellLag(ctx context.Context) error {
	if r.o.o.Observe == nil || time.Since(r.lagged) < lagEvery {
		return nil
	}
	all, err := r.o.Lag(ctx)
	if err != nil {
		return err
	}
	r.lagged = time.Now()
	for _, l := range all {
		r.o.tell(Event{Type: EventLag, Queue: l.Queue, Lag: l})
	}
	return nil
}

// Aside is a row that can't be sent.
type Aside struct {
	Seq       int64     // its number in the outbox; they grow, with gaps
	Queue, ID string    // of the job
	EnteredAt time.Time // by the database's clock
	Reason    string    // at most 1,000 bytes
}

// SetAside gives rows that were set aside, in the order of their numbers: those after a number, 0 for all, and at most so
// many, at least 1. Errors: ErrInvalid, ErrNoTable, ErrRetry, else the database's.
func (o *Outbox) SetAside(ctx context.Context, after int64, most int) ([]Aside, error) {
	if most < 1 {
		return nil, invalid("most", "is %d: at least 1", most)
	}
	var all []Aside
	err := o.each(ctx, o.plain(), func(scan func(...any) error) error {
		var a Aside
		var at int64
		err := scan(&a.Seq, &a.Queue, &a.ID, &at, &a.Reason)
		a.EnteredAt = time.UnixMilli(at)
		all = append(all, a)
		return err
	}, "set_aside", after, most)
	return all, o.named(err)
}

// Retry makes rows that were set aside be sent again, of one queue and ID or, with "", of all, and gives their number. Where
// the reason still stands, they are set aside again.
// Errors: ErrNoTable, ErrRetry, else the database's.
func (o *Outbox) Retry(ctx context.Context, queue, id string) (int64, error) {
	args := []any{queue, id}
	if o.d.Family() == string(MariaDB) {
		args = []any{queue, queue, id, id}
	}
	n, err := o.change(ctx, o.plain(), "retry", args...)
	o.Kick()
	return n, o.named(err)
}
