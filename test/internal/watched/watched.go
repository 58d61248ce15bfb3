// Package watched opens databases whose statements a test sees, between the product and the driver: so a process can be
// stopped at each step of a transaction, and the product knows nothing of it.
package watched

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
)

// Step is a step of the transaction that has a receipt and an effect.
type Step string

// The steps, in their order.
const (
	Begun      Step = "transaction begun"
	Entered    Step = "receipt inserted"
	Written    Step = "effect written"
	Committing Step = "before commit"
	Committed  Step = "after commit"
)

// Watch is called where a step is passed, with the context of its transaction.
type Watch func(context.Context, Step)

// InsertEffect begins the statement that is known as the effect; its table is the tests' own.
const InsertEffect = "INSERT INTO effect "

const insertReceipt = "INSERT INTO waybill_receipt ("

// StepOf is the step that a statement is, once it is carried out; "" = none.
func StepOf(query string) Step {
	switch {
	case strings.Contains(query, insertReceipt):
		return Entered
	case strings.Contains(query, InsertEffect):
		return Written
	}
	return ""
}

// Open opens a database through a driver of database/sql: "sqlite", "pgx" or "mysql".
func Open(name, dsn string, w Watch) (*sql.DB, error) {
	plain, err := sql.Open(name, dsn)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	return sql.OpenDB(connector{plain.Driver(), dsn, w}), nil
}

type connector struct {
	driver driver.Driver
	dsn    string
	watch  Watch
}

func (c connector) Driver() driver.Driver { return c.driver }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	inner, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: inner, watch: c.watch}, nil
}

// conn passes everything on to a driver's connection, which must have the interfaces that all three drivers have.
type conn struct {
	driver.Conn
	watch Watch
}

func (c *conn) Ping(ctx context.Context) error { return c.Conn.(driver.Pinger).Ping(ctx) }

func (c *conn) ResetSession(ctx context.Context) error {
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (c *conn) IsValid() bool {
	v, ok := c.Conn.(driver.Validator)
	return !ok || v.IsValid()
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	inner, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
	if err != nil {
		return nil, err
	}
	c.watch(ctx, Begun)
	return watchedTx{inner, c.watch, ctx}, nil
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	res, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	c.done(ctx, query, err)
	return res, err
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	inner, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	return c.rows(ctx, query, inner, err)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	inner, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &stmt{inner, c, query}, nil
}

// done notes a statement that was carried out.
func (c *conn) done(ctx context.Context, query string, err error) {
	if step := StepOf(query); err == nil && step != "" {
		c.watch(ctx, step)
	}
}

// rows are done when they are closed: only then a statement has surely run.
func (c *conn) rows(ctx context.Context, query string, inner driver.Rows, err error) (driver.Rows, error) {
	if err != nil {
		return nil, err
	}
	return watchedRows{inner, func(err error) { c.done(ctx, query, err) }}, nil
}
