// Package private gives measurements a SQL database of their own.
package private

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
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
