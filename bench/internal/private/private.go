// Package private gives measurements a SQL database of their own.
package private

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/database"
	"github.com/waybillhq/waybill/internal/devsql"
	"github.com/waybillhq/waybill/internal/dialect"
)

// startTimeout bounds the start of a server, which takes about two seconds.
const startTimeout = time.Minute

// Database is an empty database on a private server, which commits durably, or a SQLite file as internal/database opens it.
type Database struct {
	*sql.DB
	Dialect dialect.Dialect

	server *devsql.Server // nil: SQLite
	dir    string
}

// Open starts a server of the dialect and opens a new database. The caller closes it.
func Open(ctx context.Context, d dialect.Dialect) (*Database, error) {
	dir, err := os.MkdirTemp("", "wbbench")
	if err != nil {
		return nil, err
	}
	p := &Database{Dialect: d, dir: dir}
	if err := p.open(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Database) open(ctx context.Context) (err error) {
	address := "sqlite://" + filepath.Join(p.dir, "bench.db")
	if p.Dialect != dialect.SQLite {
		ctx, stop := context.WithTimeout(ctx, startTimeout)
		defer stop()
		if p.server, err = devsql.Start(ctx, p.Dialect, devsql.Options{}); err != nil {
			return err
		}
		name, err := p.server.NewDatabase(ctx)
		if err != nil {
			return err
		}
		address = p.server.URL(name)
	}
	if p.DB, _, err = database.Open(ctx, address); err != nil {
		return err
	}
	p.SetMaxIdleConns(16)
	return nil
}

// accounts is how many rows the application has.
const accounts = 1000

// Accounts makes the application's table.
func (p *Database) Accounts(ctx context.Context) error {
	var values []string
	for id := range accounts {
		values = append(values, fmt.Sprintf("(%d, 0)", id))
	}
	for _, statement := range []string{
		"CREATE TABLE account (id INTEGER PRIMARY KEY, total INTEGER NOT NULL)",
		"INSERT INTO account VALUES " + strings.Join(values, ", "),
	} {
		if _, err := p.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Deposit is the application's effect: one row is changed.
func (p *Database) Deposit(ctx context.Context, tx *sql.Tx) error {
	update := "UPDATE account SET total = total + 10 WHERE id = ?"
	if p.Dialect == dialect.PostgreSQL {
		update = "UPDATE account SET total = total + 10 WHERE id = $1"
	}
	_, err := tx.ExecContext(ctx, update, rand.IntN(accounts))
	return err
}

// In runs f in a transaction, and commits it.
func (p *Database) In(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := p.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Close ends the server and removes the files.
func (p *Database) Close() error {
	if p.DB != nil {
		_ = p.DB.Close() // its server ends next
	}
	if p.server != nil {
		_ = p.server.Close()
	}
	return os.RemoveAll(p.dir)
}
