package watched

import (
	"context"
	"database/sql/driver"
)

type watchedTx struct {
	driver.Tx
	watch Watch
	begun context.Context //nolint:containedctx // of the transaction: Commit has none
}

func (t watchedTx) Commit() error {
	t.watch(t.begun, Committing)
	err := t.Tx.Commit()
	if err == nil {
		t.watch(t.begun, Committed)
	}
	return err
}

type watchedRows struct {
	driver.Rows
	closed func(error)
}

func (r watchedRows) Close() error {
	err := r.Rows.Close()
	r.closed(err)
	return err
}

// stmt is a prepared statement, which go-sql-driver makes of every one with arguments.
type stmt struct {
	driver.Stmt
	conn  *conn
	query string
}

func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return s.conn.CheckNamedValue(v)
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	res, err := s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	s.conn.done(ctx, s.query, err)
	return res, err
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	inner, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	return s.conn.rows(ctx, s.query, inner, err)
}
