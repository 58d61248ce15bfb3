package receipt_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
)

type charge struct{ Cents int }

type charged struct{ Charge string }

type operation = receipt.Operation[charge, charged]

type call = receipt.Call[charge]

// opWorld is a database with receipts, and an attempt that is counted up.
type opWorld struct {
	t  *testing.T
	d  *sqltest.Database
	db *sql.DB
	r  *receipt.Receipts
}

func newOpWorld(t *testing.T, d *sqltest.Database, o receipt.Options) *opWorld {
	t.Helper()
	db := d.Open(t)
	_, err := receipt.Migrate(t.Context(), db, d.Dialect, o)
	must(t, err)
	r, err := receipt.New(db, d.Dialect, o)
	must(t, err)
	w := &opWorld{t, d, db, r}
	w.exec("CREATE TABLE account (total INTEGER)")
	w.exec("INSERT INTO account VALUES (0)")
	return w
}

func (w *opWorld) exec(query string) {
	w.t.Helper()
	_, err := w.db.ExecContext(w.t.Context(), query)
	must(w.t, err)
}

// attempt is the key of an attempt of a job, born now.
func attempt(id, token string, step ...string) receipt.Key {
	return receipt.ForAttempt(&waybill.Attempt{
		ID: id, Queue: "q", Kind: "payment", Payload: []byte(id), Token: token, DueAt: time.Now(), ClaimedAt: time.Now(),
	}, step...)
}

// try is one attempt; it gives the result, the error, and how often Send was called.
func (w *opWorld) try(o operation, k receipt.Key) (receipt.Result[charged], int, error) {
	w.t.Helper()
	calls, send := 0, o.Send
	o.Send = func(ctx context.Context, c call) (charged, error) {
		calls++
		if send == nil {
			return charged{c.IdempotencyKey}, nil
		}
		return send(ctx, c)
	}
	res, err := o.Do(w.t.Context(), w.r, k)
	return res, calls, err
}

func (w *opWorld) state(id string) receipt.OperationInfo {
	w.t.Helper()
	all, err := w.r.FindOperations(w.t.Context(), "q", id)
	must(w.t, err)
	for _, o := range all {
		if o.ID == id {
			return o
		}
	}
	w.t.Fatalf("no operation %q", id)
	return receipt.OperationInfo{}
}

func (w *opWorld) wantState(id string, want receipt.State) {
	w.t.Helper()
	if got := w.state(id); got.State != want {
		w.t.Errorf("operation %q is %s (%s), want %s", id, got.State, got.Reason, want)
	}
}

// age makes what was noted of all operations older, by the database's clock.
func (w *opWorld) age(d time.Duration) {
	w.t.Helper()
	ms := d.Milliseconds()
	query := "UPDATE waybill_operation SET intended_ms = intended_ms - ?, called_ms = called_ms - ?"
	if w.d.Dialect == dialect.PostgreSQL {
		query = strings.Replace(strings.Replace(query, "?", "$1", 1), "?", "$2", 1)
	}
	_, err := w.db.ExecContext(w.t.Context(), query, ms, ms)
	must(w.t, err)
}

// add is an effect of the transaction.
func add(ctx context.Context, tx *sql.Tx, _ charged) error {
	_, err := tx.ExecContext(ctx, "UPDATE account SET total = total + 10")
	return err
}

func (w *opWorld) wantTotal(want int) {
	w.t.Helper()
	var got int
	must(w.t, w.db.QueryRowContext(w.t.Context(), "SELECT total FROM account").Scan(&got))
	if got != want {
		w.t.Errorf("the total is %d, want %d", got, want)
	}
}

// wantEnd checks an error and how it ends the job.
func wantEnd(t *testing.T, err, is error, end waybill.AttemptOutcome) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Errorf("error is %v, want %v", err, is)
	}
	if got, _ := waybill.Steers(err); got != end {
		t.Errorf("the job ends %s by %v, want %s", got, err, end)
	}
}

func wantIs(t *testing.T, err, is error) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Errorf("error is %v, want %v", err, is)
	}
}

var errBroken = errors.New("status 500")

func says(err error) func(context.Context, call) (charged, error) {
	return func(context.Context, call) (charged, error) { return charged{}, err }
}

// neverSent is a Lookup or Send that must not be called.
func neverSent(t *testing.T) func(context.Context, call) (charged, error) {
	return func(context.Context, call) (charged, error) {
		t.Error("the other side was asked")
		return charged{}, errBroken
	}
}

func eachOp(t *testing.T, f func(t *testing.T, w *opWorld)) {
	t.Helper()
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		f(t, newOpWorld(t, d, receipt.Options{}))
	})
}
