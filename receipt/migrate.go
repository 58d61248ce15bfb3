package receipt

import (
	"cmp"
	"context"
	"database/sql"
	"path"

	"github.com/waybillhq/waybill/internal/dialect"
)

// Migration is one step of the tables' schema: numbered, with the statements that it runs. Steps are only ever added.
type Migration = dialect.Migration

// Migrations gives the steps for a dialect, for people who run migrations of their own. Only Options.Tables counts.
// Errors: ErrInvalid.
func Migrations(d Dialect, o Options) ([]Migration, error) {
	if err := d.Check(); err != nil {
		return nil, invalid("dialect", "is %q: one of %v", d, dialect.All())
	}
	if err := o.check(d); err != nil {
		return nil, err
	}
	return dialect.ReadMigrations(files, path.Join("sql", d.Family(), "migrations"), cmp.Or(o.Tables, defaultTables))
}

// Migrate makes the tables, or brings them up to what this version needs, and gives the steps that it did: none where all
// were done. Processes that migrate at once wait for each other. Errors: ErrInvalid, else the database's.
func Migrate(ctx context.Context, db *sql.DB, d Dialect, o Options) ([]Migration, error) {
	steps, err := Migrations(d, o)
	if err != nil {
		return nil, err
	}
	return d.Migrate(ctx, db, cmp.Or(o.Tables, defaultTables), "receipt", steps)
}
