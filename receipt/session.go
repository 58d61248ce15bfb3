package receipt

import (
	"context"
	"database/sql"
	"errors"

	"github.com/waybillhq/waybill/internal/dialect"
)

// Session is an open transaction, for packages that bring another driver than database/sql, as pgxreceipt does. It takes
// the statements of the dialect, with its placeholders. One goroutine uses it.
type Session interface {
	// QueryOne scans the first row into dest; found is false where there is none.
	QueryOne(ctx context.Context, query string, args, dest []any) (found bool, err error)
	// Change runs a statement and gives the number of rows that it affected.
	Change(ctx context.Context, query string, args []any) (rows int64, err error)
}

// Held is the Session of a transaction that the caller holds.
type Held interface {
	Session
	// RollBack ends the transaction after err, and gives err; with driver.ErrBadConn where the connection is gone.
	RollBack(ctx context.Context, err error) error
}

// Opening is how another driver's transactions are run.
type Opening[Tx any] struct {
	// Run opens a transaction, gives it to f, and commits it, or rolls it back where f gives an error, and returns that.
	Run     func(ctx context.Context, f func(context.Context, Tx) error) error
	Session func(Tx) Session
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// sqlSession is a Session of database/sql.
type sqlSession struct {
	q        querier
	tx       *sql.Tx // for what is prepared; may be nil without
	prepared map[string]*sql.Stmt
}

// heldTx is a Held of database/sql.
type heldTx struct {
	sqlSession
	tx *sql.Tx
}

func (h heldTx) RollBack(ctx context.Context, err error) error {
	return dialect.RollBack(ctx, h.tx, err)
}

func (s sqlSession) QueryOne(ctx context.Context, query string, args, dest []any) (bool, error) {
	var row *sql.Row
	if p := s.prepared[query]; p != nil {
		row = s.tx.StmtContext(ctx, p).QueryRowContext(ctx, args...) //nolint:sqlclosecheck // the transaction's end closes it
	} else {
		row = s.q.QueryRowContext(ctx, query, args...)
	}
	err := row.Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (s sqlSession) Change(ctx context.Context, query string, args []any) (int64, error) {
	var said sql.Result
	var err error
	if p := s.prepared[query]; p != nil {
		said, err = s.tx.StmtContext(ctx, p).ExecContext(ctx, args...) //nolint:sqlclosecheck // likewise
	} else {
		said, err = s.q.ExecContext(ctx, query, args...)
	}
	if err != nil {
		return 0, err
	}
	return said.RowsAffected()
}
