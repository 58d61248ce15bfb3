package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/dialect"
)

// Session is an open transaction that the caller holds, for packages that bring another driver than database/sql, as
// pgxoutbox does. It takes the statements of the dialect, with its placeholders. One goroutine uses it.
type Session interface {
	// Query calls scan for each row, with what scans its columns.
	Query(ctx context.Context, query string, args []any, scan func(scan func(dest ...any) error) error) error
	// Exec runs a statement and gives the number of rows that it affected.
	Exec(ctx context.Context, query string, args []any) (rows int64, err error)
	// RollBack ends the transaction after err, and gives err; with driver.ErrBadConn where the connection is gone.
	RollBack(ctx context.Context, err error) error
}

// executor is a *sql.DB, *sql.Conn or *sql.Tx.
type executor interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// session is a Session of database/sql; without tx it is none that can be rolled back.
type session struct {
	executor
	tx *sql.Tx
}

func (s session) Query(ctx context.Context, query string, args []any, scan func(func(...any) error) error) error {
	rows, err := s.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s session) Exec(ctx context.Context, query string, args []any) (int64, error) {
	said, err := s.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return said.RowsAffected()
}

func (s session) RollBack(ctx context.Context, err error) error {
	return dialect.RollBack(ctx, s.tx, err)
}

// list is a value of a statement that stands for many: a list of numbers or of words without spaces.
type list []any

func listOf[T any](values []T) list {
	l := make(list, len(values))
	for i, v := range values {
		l[i] = v
	}
	return l
}

// query is a statement by its name, with its arguments as the dialect takes them: a list is one parameter, but on MariaDB and
// MySQL, where the statement gets a placeholder for each of its values.
func (o *Outbox) query(name string, args ...any) (string, []any) {
	text := o.sql[name]
	if text == "" {
		panic("outbox: no statement " + name)
	}
	out := make([]any, 0, len(args))
	for _, a := range args {
		values, ok := a.(list)
		switch {
		case !ok:
			out = append(out, a)
		case o.d == PostgreSQL:
			out = append(out, strings.TrimSuffix(fmt.Sprintln(values...), "\n"))
		case o.d == SQLite:
			b, err := json.Marshal(values)
			if err != nil {
				panic(err) // numbers and strings always encode
			}
			out = append(out, string(b))
		default:
			text = strings.Replace(text, "LIST", strings.TrimSuffix(strings.Repeat("?, ", len(values)), ", "), 1)
			out = append(out, values...)
		}
	}
	return text, out
}

// each runs a statement and calls scan for each row.
func (o *Outbox) each(ctx context.Context, s Session, scan func(func(...any) error) error, name string, args ...any) error {
	text, args := o.query(name, args...)
	if err := s.Query(ctx, text, args, scan); err != nil {
		return fmt.Errorf("outbox %s: %w", name, err)
	}
	return nil
}

// change runs a statement and gives the number of rows that it affected.
func (o *Outbox) change(ctx context.Context, s Session, name string, args ...any) (int64, error) {
	text, args := o.query(name, args...)
	n, err := s.Exec(ctx, text, args)
	if err != nil {
		return 0, fmt.Errorf("outbox %s: %w", name, err)
	}
	return n, nil
}

// plain is a session without a transaction.
func (o *Outbox) plain() Session { return session{executor: o.db} }

const readCommitted = sql.LevelReadCommitted

func txOf(f func(context.Context, Session) error) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error { return f(ctx, session{tx, tx}) }
}
