package outbox

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/store"
)

// queueRow is what the database keeps of a queue. sent and told are the highest numbers that the queue's Redis ever gave:
// a lower one says that it lost data. They begin anew with each epoch, which is a replay.
type queueRow struct {
	name                     string
	epoch, turn, sent, told  int64
	unread, strangers        int64
	oldestMS, readMS, lostMS int64 // 0 = none
	why                      string
}

// lost says how the queue stands, where Redis lost its data and nothing was replayed yet.
func (q queueRow) lost() error {
	if q.lostMS == 0 {
		return nil
	}
	return fmt.Errorf("%s, noticed at %s: %s: %w", titled(q.name), time.UnixMilli(q.lostMS).UTC().Format(time.RFC3339), q.why, ErrLost)
}

// fell says what a standing that is lower than what was there before shows, "" where it is not lower.
func (q queueRow) fell(s store.Standing) string {
	switch {
	case s.Before < q.sent: // what a call itself added would hide a loss
		what := "jobs"
		if isTopic(q.name) {
			what = "events"
		}
		return fmt.Sprintf("it had taken %d %s from this outbox and knows of %d", q.sent, what, max(0, s.Before))
	case s.Told < q.told:
		return fmt.Sprintf("it had told what became of %d jobs and knows of %d", q.told, s.Told)
	}
	return ""
}

// queueRows reads what is kept of all queues.
func (o *Outbox) queueRows(ctx context.Context) (map[string]queueRow, error) {
	all := map[string]queueRow{}
	err := o.readQueues(ctx, o.plain(), func(q queueRow) { all[q.name] = q }, "queues")
	return all, o.named(err)
}

// readQueues gives what a statement reads of queues.
func (o *Outbox) readQueues(ctx context.Context, s Session, give func(queueRow), name string, args ...any) error {
	return o.each(ctx, s, func(scan func(...any) error) error {
		var q queueRow
		err := scan(&q.name, &q.epoch, &q.turn, &q.sent, &q.told, &q.unread, &q.oldestMS, &q.readMS, &q.strangers, &q.lostMS, &q.why)
		give(q)
		return err
	}, name, args...)
}

// queueRow reads what is kept of a queue, and makes it where there is nothing.
func (o *Outbox) queueRow(ctx context.Context, name string) (queueRow, error) {
	q := queueRow{}
	err := o.readQueues(ctx, o.plain(), func(found queueRow) { q = found }, "queue", name)
	if err != nil || q.name != "" {
		return q, o.named(err)
	}
	_, err = o.change(ctx, o.plain(), "queue_add", name)
	return queueRow{name: name}, o.named(err)
}

// Name gives the outbox's random name: by it Redis knows whose jobs are whose. It has one from its first relay, or its first
// Name, on. Errors: ErrNoTable, else the database's.
func (o *Outbox) Name(ctx context.Context) (string, error) {
	if name, err := o.nameThere(ctx); err != nil || name != "" {
		return name, err
	}
	if _, err := o.change(ctx, o.plain(), "name_put", rand.Text()); err != nil {
		return "", o.named(err)
	}
	return o.nameThere(ctx)
}

// nameThere is Name for those who only look: "" where there is none yet.
func (o *Outbox) nameThere(ctx context.Context) (name string, err error) {
	err = o.each(ctx, o.plain(), func(scan func(...any) error) error { return scan(&name) }, "name")
	return name, o.named(err)
}

// Time limits of the relay's own transactions.
const (
	ownLock = time.Second
	ownIdle = 5 * time.Second // after which the server frees the rows of a relay that stands still
)

// short runs a transaction of the relay's own. Other levels than READ COMMITTED would lock gaps that the application's
// inserts need, or fail where somebody else was first.
func (o *Outbox) short(ctx context.Context, f func(context.Context, Session) error) error {
	t := dialect.Tx{LockTimeout: dialect.Jitter(ownLock), IdleTimeout: ownIdle}
	if o.d != SQLite {
		t.Isolation = readCommitted
	}
	return o.d.Run(ctx, o.db, t, txOf(func(ctx context.Context, s Session) error {
		if o.d == PostgreSQL {
			lock, idle := dialect.Milliseconds(t.LockTimeout), dialect.Milliseconds(t.IdleTimeout)
			if err := o.each(ctx, s, func(func(...any) error) error { return nil }, "limits", lock, idle); err != nil {
				return err
			}
		}
		return f(ctx, s)
	}))
}
