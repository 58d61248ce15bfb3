package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/record"
)

// Enqueue enters jobs into the outbox, in the transaction that the caller holds and commits: they are sent if and only if it
// commits. A request without an ID gets one now; the ID of waybill.ID or Request.Named is known before. An ID that has a row
// already is the same job: nothing is added, and where kind or payload differ it is ErrConflict. A delay counts from now, by
// the database's clock. A job whose queue is full waits for room, or is spilled where OnFull says so.
//
// tx is one of the Outbox's own database: a transaction of another one that has such tables would enter the jobs there. All
// requests are checked first: ErrInvalid writes nothing. After an error of the database, or where ctx ends, the whole
// transaction is rolled back, whatever the caller does. Errors: ErrInvalid, ErrConflict (the others are entered; where
// several are refused, a *waybill.BulkError), ErrRetry, ErrNoTable, the context's, else the database's. Safe for concurrent
// use in different transactions.
func (o *Outbox) Enqueue(ctx context.Context, tx *sql.Tx, r ...waybill.Request) error {
	_, err := o.enterIn(ctx, tx, Entry{All: true}, r)
	return err
}

// EnqueueInOrder is Enqueue for jobs that enter their queue in the order of their rows: of the rows of one queue and key, one
// is sent when all before it that are committed were. That is all: a row whose transaction commits late comes late, and once
// in the queue jobs run by its rules, several at a time and with retries. A row that was set aside is not waited for.
// A key has 1 to 128 bytes of UTF-8, without a zero byte. One row of a key is sent at a time, so each takes a round of the
// relay. Errors: as Enqueue.
func (o *Outbox) EnqueueInOrder(ctx context.Context, tx *sql.Tx, key string, r ...waybill.Request) error {
	if key == "" {
		return invalid("key", "is empty: 1 to %d bytes", maxKey)
	}
	_, err := o.enterIn(ctx, tx, Entry{All: true, Key: key}, r)
	return err
}

// EnqueueMany is Enqueue with an answer for each request, in order, as Client.EnqueueMany gives: accepted, duplicate, or why
// not. The error is nil where all were taken, else a *waybill.BulkError, and those that were taken are entered; or that of
// the database or the context, and none is. Errors: as Enqueue.
func (o *Outbox) EnqueueMany(ctx context.Context, tx *sql.Tx, r []waybill.Request) ([]waybill.Enqueued, error) {
	return o.enterIn(ctx, tx, Entry{}, r)
}

func (o *Outbox) enterIn(ctx context.Context, tx *sql.Tx, e Entry, r []waybill.Request) ([]waybill.Enqueued, error) {
	if tx == nil {
		return nil, invalid("tx", "is nil")
	}
	return o.EnterIn(ctx, session{tx, tx}, e, r)
}

// Entry says how EnterIn enters requests. The zero value is EnqueueMany.
type Entry struct {
	Key string // as EnqueueInOrder; "" = none
	All bool   // as Enqueue: where one is invalid none is entered, and the error stands for the answers
	// Events, as Publish: what is no event is invalid.
	Events bool
}

// maxKey bounds a key, in bytes.
const maxKey = record.MaxID

// checkKey checks a key; "" is none.
func checkKey(key string) error {
	switch {
	case len(key) > maxKey:
		return invalid("key", "is %d bytes long: 1 to %d", len(key), maxKey)
	case !utf8.ValidString(key):
		return invalid("key", "%q is not UTF-8", key)
	case strings.ContainsRune(key, 0):
		return invalid("key", "%q holds a zero byte, which no database takes in a text", key)
	}
	return nil
}

// only is the error for those who want no answers: that of the one request that was not taken, that of the first one for
// which none was entered, or all of them.
func only(out []waybill.Enqueued, err error) error {
	if len(out) == 1 && out[0].Err != nil {
		return out[0].Err
	}
	beside := func(e waybill.Enqueued) bool { return errors.Is(e.Err, errBeside) }
	guilty := func(e waybill.Enqueued) bool { return e.Err != nil && !beside(e) }
	if i := slices.IndexFunc(out, guilty); i >= 0 && slices.ContainsFunc(out, beside) {
		return fmt.Errorf("request %d of %d, none was entered: %w", i+1, len(out), out[i].Err)
	}
	return err
}

// EnterIn is EnqueueMany in a transaction of another driver than database/sql's, and what packages as pgxoutbox are made of.
// Errors: as Enqueue.
func (o *Outbox) EnterIn(ctx context.Context, s Session, e Entry, requests []waybill.Request) ([]waybill.Enqueued, error) {
	if err := checkKey(e.Key); err != nil {
		return nil, err
	}
	if len(requests) == 0 {
		return nil, nil
	}
	named, fresh := make([]waybill.Request, len(requests)), map[string]bool{}
	for i, r := range requests {
		named[i] = r.Named()
		if r.ID == "" {
			fresh[named[i].ID] = true
		}
	}
	in := &entering{o: o, s: s, e: e, fresh: fresh}
	out := waybill.Through(in.enter, o.wraps()...)(ctx, named)
	err := waybill.BulkErrorOf(out)
	if in.err != nil {
		in.undone(out)
		err = in.err
	}
	if e.All {
		err = only(out, err)
	}
	return out, err
}

// undone answers for jobs that are rolled back now, whatever middleware says of them.
func (in *entering) undone(out []waybill.Enqueued) {
	for i := range out {
		if e := &out[i]; e.Err == nil {
			e.Outcome, e.Err = waybill.OutcomeUnavailable, in.err
		}
	}
}

// entering is one call of EnterIn.
type entering struct {
	o   *Outbox
	s   Session
	e   Entry
	err error // of the database

	// fresh are IDs that this call has made up and not entered yet: nobody else has them. Middleware may enter a job twice.
	fresh map[string]bool
}

// enter is what the middleware wraps.
func (in *entering) enter(ctx context.Context, requests []waybill.Request) []waybill.Enqueued {
	out := make([]waybill.Enqueued, len(requests))
	var rows []row
	for i, r := range requests {
		d, err := r.Draft(in.o.o.MaxPayload)
		if err == nil && in.e.Events && !isTopic(d.Queue) {
			err = invalid("queue", "is %s: only events are published, which topic.Topic.Request makes", d.Queue)
		}
		out[i] = waybill.Enqueued{ID: d.ID, Queue: d.Queue}
		if err != nil {
			out[i].Outcome, out[i].Err = waybill.OutcomeInvalid, err
			continue
		}
		rows = append(rows, row{at: i, d: d, fp: d.Fingerprint(), body: d.Pack(), fresh: in.fresh[d.ID]})
		delete(in.fresh, d.ID)
	}
	if len(rows) < len(out) && in.e.All {
		for _, r := range rows {
			out[r.at].Outcome, out[r.at].Err = waybill.OutcomeInvalid, fmt.Errorf("not entered: %w", errBeside)
		}
		return out
	}
	if in.err == nil { // else the transaction is over, whatever middleware tries again
		if err := in.write(ctx, rows, out); err != nil {
			in.err = in.failed(ctx, in.s.RollBack(ctx, err))
		}
	}
	if in.err != nil {
		for _, r := range rows {
			out[r.at].Outcome, out[r.at].Err = waybill.OutcomeUnavailable, in.err
		}
	}
	return out
}

// failed names an error of the database. What a context has ended is not to be run again.
func (in *entering) failed(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case cause == nil:
		return in.o.named(err)
	case errors.Is(err, cause):
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// errBeside says why a request was not entered that is right itself.
var errBeside = fmt.Errorf("%w: another request of the same call", ErrInvalid)

// write enters rows, and answers each.
func (in *entering) write(ctx context.Context, rows []row, out []waybill.Enqueued) error {
	if len(rows) == 0 {
		return nil
	}
	if err := in.still(ctx); err != nil {
		return err
	}
	for len(rows) > 0 {
		n := chunk(rows)
		if err := in.writeSome(ctx, rows[:n], out); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return in.o.notify(ctx, in.s)
}

// still asks whether the caller's transaction goes on: on MariaDB a deadlock whose error was ignored has ended it, and what
// comes after would stand on its own. MySQL can't be asked.
func (in *entering) still(ctx context.Context) error {
	if in.o.d != MariaDB {
		return nil
	}
	var open bool
	err := in.s.Query(ctx, "SELECT @@in_transaction", nil, func(scan func(...any) error) error { return scan(&open) })
	if err != nil {
		return fmt.Errorf("ask for the transaction: %w", err)
	}
	if !open {
		return ErrNotInTransaction
	}
	return nil
}

func (in *entering) writeSome(ctx context.Context, rows []row, out []waybill.Enqueued) error {
	entered, err := in.o.insert(ctx, in.s, in.e.Key, rows)
	if err != nil {
		return fmt.Errorf("enter %d jobs into the outbox: %w", len(rows), err)
	}
	there, err := in.there(ctx, rows, entered)
	if err != nil {
		return err
	}
	for _, r := range rows {
		e, name := &out[r.at], rowName{r.d.Queue, r.d.ID}
		switch fp, known := there[name]; {
		case entered[name]:
			e.Outcome = waybill.OutcomeAccepted
			delete(entered, name) // what comes again in the same call is a repeat
			there[name] = r.fp
		case !known: // it was purged after the insert met it
			return fmt.Errorf("job %s was purged meanwhile: %w", r.d.ID, dialect.ErrAgain)
		case fp == r.fp:
			e.Outcome = waybill.OutcomeDuplicate
		default:
			e.Outcome = waybill.OutcomeConflict
			e.Err = fmt.Errorf("job %s in queue %s has a row in the outbox: %w", r.d.ID, r.d.Queue, ErrConflict)
		}
	}
	return nil
}
