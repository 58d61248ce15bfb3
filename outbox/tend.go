package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
)

// RowState is where a row stands.
type RowState string

// States of a row.
const (
	RowNew      RowState = "new"       // not sent yet
	RowSent     RowState = "sent"      // its job is in the queue, and has not ended; of an event: it was published
	RowAcked    RowState = "acked"     // its job was acked
	RowDead     RowState = "dead"      // its job is dead
	RowDeleted  RowState = "deleted"   // its job was deleted or cancelled
	RowSetAside RowState = "set_aside" // it can't be sent
)

var rowStates = map[int]RowState{
	stateNew: RowNew, stateSent: RowSent, stateAcked: RowAcked, stateDead: RowDead, stateDeleted: RowDeleted, stateAside: RowSetAside,
}

// Row is all that the outbox knows of a job. Times are the database's, to the millisecond.
type Row struct {
	Seq       int64 // its number in the outbox
	Queue, ID string
	Key       string // that orders it; "" = none
	State     RowState
	EnteredAt time.Time
	DueAt     time.Time // when its job is due: when it was entered, where it has no delay
	EndedAt   time.Time // zero = its job has not ended, or is not known to have; of an event: when it was published
	Reason    string    // why it was set aside; "" = it was not
	Body      []byte    // as it is kept
	// Request is what the body says, with Delay 0, and with At where it has a delay or a time. Where the body can't be read
	// it has queue and ID alone.
	Request waybill.Request
	// Unusable is why the row can be no job: its body can't be read, or breaks a limit. nil = it can.
	Unusable error
}

// Row gives a row, whatever its state. Errors: ErrInvalid, ErrNotFound, ErrNoTable, else the database's.
func (o *Outbox) Row(ctx context.Context, queue, id string) (Row, error) {
	if err := errors.Join(checkText("queue", queue), checkText("id", id)); err != nil {
		return Row{}, err
	}
	r := Row{Queue: queue, ID: id}
	err := o.each(ctx, o.plain(), func(scan func(...any) error) error { return r.scan(scan) }, "get", queue, id)
	if err == nil && r.Seq == 0 {
		err = fmt.Errorf("job %q in queue %q: %w", id, queue, ErrNotFound)
	}
	return r, o.named(err)
}

func (r *Row) scan(scan func(...any) error) error {
	var key sql.NullString
	var ended sql.NullInt64
	var born, entered int64
	var state int
	if err := scan(&r.Seq, &key, &born, &entered, &state, &ended, &r.Reason, &r.Body); err != nil {
		return err
	}
	r.Key, r.EnteredAt, r.DueAt, r.EndedAt = key.String, time.UnixMilli(entered), time.UnixMilli(born), moment(ended.Int64)
	if r.State = rowStates[state]; r.State == "" {
		r.State = RowState(strconv.Itoa(state))
	}
	if state == statePublished && isTopic(r.Queue) {
		r.State = RowSent
	}
	d, err := usable(r.Queue, r.ID, r.Body)
	r.Unusable = err
	r.read(d)
	return nil
}

// read takes over what the body says.
func (r *Row) read(d record.Draft) {
	j := d.Sent(record.NoOutbox, r.DueAt)
	r.Request = waybill.Request{
		Queue: r.Queue, ID: r.ID, Kind: j.Kind, Payload: j.Payload, Headers: j.Headers, Priority: d.Priority, LIFO: d.LIFO,
		At: j.At, MaxFailures: j.MaxFailures, Retention: j.Retention, Version: j.Version, OnFull: waybill.FullWait,
	}
	if d.Spill {
		r.Request.OnFull = waybill.FullSpill
	}
	if !j.At.IsZero() {
		r.DueAt = j.At
	}
}

// checkText checks a text that is only compared: a row may have any that a database takes.
func checkText(field, s string) error {
	switch {
	case s == "":
		return invalid(field, "is empty: give that of the row")
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return invalid(field, "%q is not UTF-8 without a zero byte", s)
	}
	return nil
}

// Discard deletes rows that were set aside, of one queue and ID or, with "", of all, and gives their number: their jobs never
// run. Rows of other states stay. Errors: ErrNoTable, else the database's.
func (o *Outbox) Discard(ctx context.Context, queue, id string) (int64, error) {
	args := []any{queue, id}
	if o.d.Family() == string(MariaDB) {
		args = []any{queue, queue, id, id}
	}
	n, err := o.change(ctx, o.plain(), "discard", args...)
	return n, o.named(err)
}
