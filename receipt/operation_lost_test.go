package receipt_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

// lossy is a driver's connector whose commits succeed, and lose their reply as often as lose says.
type lossy struct {
	driver driver.Driver
	dsn    string
	lose   atomic.Int64
}

func (l *lossy) Driver() driver.Driver { return l.driver }

func (l *lossy) Connect(context.Context) (driver.Conn, error) {
	c, err := l.driver.Open(l.dsn)
	return &lossyConn{c, l}, err
}

type lossyConn struct {
	driver.Conn
	l *lossy
}

func (c *lossyConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
	return lossyTx{tx, c.l}, err
}

func (c *lossyConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *lossyConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

type lossyTx struct {
	driver.Tx
	l *lossy
}

func (tx lossyTx) Commit() error {
	err := tx.Tx.Commit()
	if err == nil && tx.l.lose.Add(-1) >= 0 {
		return driver.ErrBadConn
	}
	return err
}

func TestOperation_LostReply(t *testing.T) {
	eachOp(t, func(t *testing.T, w *opWorld) {
		l := &lossy{driver: w.db.Driver(), dsn: w.d.DSN}
		db := sql.OpenDB(l)
		defer db.Close()
		r, err := receipt.New(db, w.d.Dialect, receipt.Options{})
		must(t, err)
		for name, o := range map[string]operation{"keyed": {KeyTTL: time.Hour}, "looked": {Lookup: neverSent(t), Final: 1}, "undeclared": {}} {
			t.Run("of the commits of intent and answer: one call, applied, counted once, "+name, func(t *testing.T) {
				before, calls := r.Counts(), 0
				o.Record = add
				o.Send = func(context.Context, call) (charged, error) {
					calls++
					l.lose.Store(1)
					return charged{name}, nil
				}
				l.lose.Store(1)
				got, err := o.Do(t.Context(), r, attempt(name, "a"))
				must(t, err)
				if got.Outcome != receipt.Applied || !got.AppliedAt.IsZero() || got.Value.Charge != name || calls != 1 || w.state(name).Calls != 1 {
					t.Errorf("%+v after %d calls, %d noted", got, calls, w.state(name).Calls)
				}
				after := r.Counts()
				if after.Applied-before.Applied != 1 || after.Replayed != before.Replayed || after.Retried-before.Retried != 2 {
					t.Errorf("counts went from %+v to %+v", before, after)
				}
			})
		}
		t.Run("of the commit that notes a call after a lookup: the call is made", func(t *testing.T) {
			_, _, err := w.try(operation{Final: 1, Lookup: neverSent(t), Send: says(errBroken)}, attempt("again", "a"))
			wantEnd(t, err, errBroken, waybill.AttemptRetry)
			w.age(time.Minute)
			calls := 0
			o := operation{Final: 1}
			o.Lookup = func(context.Context, call) (charged, error) {
				l.lose.Store(1)
				return charged{}, receipt.NotFound()
			}
			o.Send = func(_ context.Context, c call) (charged, error) {
				calls += c.Number
				return charged{}, nil
			}
			_, err = o.Do(t.Context(), r, attempt("again", "b"))
			must(t, err)
			if calls != 2 || w.state("again").Calls != 2 {
				t.Errorf("call %d was made, %d are noted", calls, w.state("again").Calls)
			}
		})
		w.wantTotal(30)
	})
}
