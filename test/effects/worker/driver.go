package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"

	"github.com/waybillhq/waybill/test/effects"
)

// Statements by which steps are known. The table effect is the tests' own.
const (
	insertReceipt = "INSERT INTO waybill_receipt ("
	insertEffect  = "INSERT INTO effect "
)

// stepOf is the step that a statement is, once it is carried out; "" = none.
func stepOf(query string) effects.Step {
	switch {
	case strings.Contains(query, insertReceipt):
		return effects.Entered
	case strings.Contains(query, insertEffect):
		return effects.Written
	}
	return ""
}

// openWatched opens a database whose statements the trap sees.
func openWatched(name, dsn string, t *trap) (*sql.DB, error) {
	plain, err := sql.Open(name, dsn)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	return sql.OpenDB(connector{plain.Driver(), dsn, t}), nil
}

type connector struct {
	driver driver.Driver
	dsn    string
	trap   *trap
}

func (c connector) Driver() driver.Driver { return c.driver }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	inner, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: inner, trap: c.trap}, nil
}

// conn passes everything on to a driver's connection, which must have the interfaces that all three drivers have.
type conn struct {
	driver.Conn
	trap *trap
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
	a := attemptOf(ctx)
	c.trap.reach(a, effects.Begun)
	return watchedTx{inner, c.trap, a}, nil
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
	if step := stepOf(query); err == nil && step != "" {
		c.trap.reach(attemptOf(ctx), step)
	}
}

// rows are done when they are closed: only then a statement has surely run.
func (c *conn) rows(ctx context.Context, query string, inner driver.Rows, err error) (driver.Rows, error) {
	if err != nil {
		return nil, err
	}
	return watchedRows{inner, func(err error) { c.done(ctx, query, err) }}, nil
}
