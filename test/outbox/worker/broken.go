package main

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/test/internal/victim"
	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

// bad is a relay that is made as it must not be.
type bad struct {
	db     *sql.DB
	d      outbox.Dialect
	box    *store.Outbox
	number byte
	cursor bool // by a cursor, else marked first
}

func relayBadly(ctx context.Context, db *sql.DB, box *outbox.Outbox, c *waybill.Client, o outboxtest.Orders) error {
	name, err := box.Name(ctx)
	if err != nil {
		return err
	}
	b := &bad{db: db, d: outbox.Dialect(o.Dialect), cursor: o.Build == outboxtest.Cursor}
	if b.box, err = c.Outbox(o.Queue, name); err != nil {
		return err
	}
	s, err := b.box.Enter(ctx)
	if err != nil {
		return err
	}
	b.number = s.Number
	tick := time.NewTicker(time.Duration(o.PollMS) * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		n, err := b.round(context.WithoutCancel(ctx))
		if err != nil {
			n = -1 // it is tried again
		}
		if n == 0 {
			victim.Say(outboxtest.Said{Idle: true})
		}
		<-tick.C
	}
	return nil
}

// round sends up to a hundred rows. The cursor is in a table that the test made, so that it outlives the process.
func (b *bad) round(ctx context.Context) (int, error) {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	where := "state = 0"
	if b.cursor {
		where = "seq > (SELECT max(seq) FROM seen)"
	}
	jobs, seqs, err := b.read(ctx, tx, where)
	if err != nil || len(jobs) == 0 {
		return 0, err
	}
	boundary.At(ctx, string(outboxtest.RowsLocked))
	mark := "UPDATE waybill_outbox SET state = 1 WHERE seq IN (" + strings.Join(seqs, ", ") + ")"
	if b.cursor {
		mark = "INSERT INTO seen (seq) VALUES (" + seqs[len(seqs)-1] + ")"
		if err := b.send(ctx, jobs); err != nil {
			return 0, err
		}
	}
	if _, err := tx.ExecContext(ctx, mark); err != nil {
		return 0, err
	}
	if err := tx.Commit(); err != nil {
		return 0, err
	}
	boundary.At(ctx, string(outboxtest.RowsCommitted))
	if b.cursor {
		return len(jobs), nil
	}
	return len(jobs), b.send(ctx, jobs)
}

func (b *bad) read(ctx context.Context, tx *sql.Tx, where string) (jobs []store.Add, seqs []string, err error) {
	text := "SELECT seq, q, id, born, body FROM waybill_outbox WHERE " + where + " ORDER BY seq LIMIT 100"
	if b.d != outbox.SQLite && !strings.HasPrefix(where, "seq") {
		text += " FOR UPDATE"
	}
	rows, err := tx.QueryContext(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var seq, queue, id string
		var born int64
		var body []byte
		if err := rows.Scan(&seq, &queue, &id, &born, &body); err != nil {
			return nil, nil, err
		}
		d, err := record.ParseDraft(body)
		if err != nil {
			return nil, nil, err
		}
		seqs = append(seqs, seq)
		jobs = append(jobs, store.Add{ID: id, Job: d.Sent(b.number, time.UnixMilli(born))})
	}
	return jobs, seqs, rows.Err()
}

func (b *bad) send(ctx context.Context, jobs []store.Add) error {
	said, _, err := b.box.Send(ctx, b.number, jobs, false)
	for _, e := range said {
		if err == nil {
			err = e.Err
		}
	}
	return err
}
