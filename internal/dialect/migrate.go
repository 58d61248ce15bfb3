package dialect

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// Migration is one step of a schema. Steps are numbered from 1, only ever added, and each is done once.
type Migration struct {
	Number     int
	Name       string
	Statements []string
}

// tablePrefix is what stands for the settable begin of the tables' names, in all statements.
const tablePrefix = "waybill_"

// Fill puts the tables' names into a statement.
func Fill(text, tables string) string { return strings.ReplaceAll(text, tablePrefix, tables) }

// ReadMigrations reads the steps of a directory, with files as 001_name.sql.
func ReadMigrations(files fs.FS, dir, tables string) ([]Migration, error) {
	names, err := fs.Glob(files, path.Join(dir, "*.sql"))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	var all []Migration
	for i, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		number, rest, _ := strings.Cut(strings.TrimSuffix(path.Base(name), ".sql"), "_")
		m := Migration{Name: rest}
		if m.Number, err = strconv.Atoi(number); err != nil || m.Number != i+1 {
			return nil, fmt.Errorf("migration %s: step %d is expected", name, i+1)
		}
		for statement := range strings.SplitSeq(Fill(string(text), tables), ";\n") {
			if statement = strings.TrimSpace(statement); statement != "" {
				m.Statements = append(m.Statements, statement)
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// Migrate does the steps that were not done yet, and gives them. part names what they belong to: several parts share one
// table of what was done. Two that migrate at once wait for each other. On MariaDB and MySQL a step whose process was
// killed is begun again: its statements must bear that.
func (d Dialect) Migrate(ctx context.Context, db *sql.DB, tables, part string, steps []Migration) ([]Migration, error) {
	var done []Migration
	err := d.Retry(ctx, lockWait, func(Fault, error) {}, func(ctx context.Context) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		defer func() { _ = conn.Close() }()
		return d.exclusively(ctx, conn, func() error {
			done, err = d.missing(ctx, conn, tables, part, steps)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// missing does the steps that were not done yet.
func (d Dialect) missing(ctx context.Context, conn *sql.Conn, tables, part string, steps []Migration) ([]Migration, error) {
	if _, err := conn.ExecContext(ctx, d.migrationTable(tables)); err != nil {
		return nil, fmt.Errorf("make the table of migrations: %w", err)
	}
	var last int
	row := conn.QueryRowContext(ctx, Fill("SELECT coalesce(max(number), 0) FROM waybill_migration WHERE part = '"+part+"'", tables))
	if err := row.Scan(&last); err != nil {
		return nil, fmt.Errorf("read the table of migrations: %w", err)
	}
	if last > len(steps) {
		return nil, fmt.Errorf("the %s tables are at step %d, and this program knows %d: it is older than they are", part, last, len(steps))
	}
	for _, m := range steps[last:] {
		if err := m.do(ctx, conn, tables, part); err != nil {
			return nil, err
		}
	}
	return steps[last:], nil
}

func (m Migration) do(ctx context.Context, conn *sql.Conn, tables, part string) error {
	record := Fill(fmt.Sprintf("INSERT INTO waybill_migration (part, number, name) VALUES ('%s', %d, '%s')", part, m.Number, m.Name), tables)
	for _, statement := range append(m.Statements[:len(m.Statements):len(m.Statements)], record) {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("migration %d (%s) of %s: %w", m.Number, m.Name, part, err)
		}
	}
	return nil
}

func (d Dialect) migrationTable(tables string) string {
	text := map[Dialect]string{
		PostgreSQL: "part text NOT NULL, number integer NOT NULL, name text NOT NULL, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (part, number))",
		SQLite:     "part TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (part, number))",
	}[d]
	if text == "" {
		text = "part VARBINARY(64) NOT NULL, number INT NOT NULL, name VARBINARY(64) NOT NULL, " +
			"at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (part, number)) ENGINE=InnoDB"
	}
	return Fill("CREATE TABLE IF NOT EXISTS waybill_migration ("+text, tables)
}

// lockWait is how long somebody else's migration is waited for.
const lockWait = time.Minute

// exclusively runs f while nobody else migrates, and on PostgreSQL and SQLite in one transaction.
func (d Dialect) exclusively(ctx context.Context, conn *sql.Conn, f func() error) error {
	end, undo := "COMMIT", "ROLLBACK"
	if d == MariaDB || d == MySQL {
		end = "DO RELEASE_LOCK('waybill_migration')"
		undo = end
	}
	err := d.lock(ctx, conn)
	if err == nil {
		err = f()
	}
	if err == nil {
		if _, err = conn.ExecContext(ctx, end); err == nil {
			return nil
		}
		err = fmt.Errorf("end the migration: %w", err)
	}
	if _, undone := conn.ExecContext(context.WithoutCancel(ctx), undo); undone != nil {
		discard(conn)
	}
	return err
}

// lock keeps others from migrating.
func (d Dialect) lock(ctx context.Context, conn *sql.Conn) (err error) {
	switch d {
	case SQLite:
		_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	case PostgreSQL:
		if _, err = conn.ExecContext(ctx, "BEGIN"); err == nil {
			_, err = conn.ExecContext(ctx, "SELECT pg_advisory_xact_lock(8733211)")
		}
	default:
		var got sql.NullInt64
		row := conn.QueryRowContext(ctx, fmt.Sprintf("SELECT GET_LOCK('waybill_migration', %d)", seconds(lockWait)))
		if err = row.Scan(&got); err == nil && got.Int64 != 1 {
			return fmt.Errorf("begin the migration: another one is still running after %s", lockWait)
		}
	}
	if err != nil {
		return fmt.Errorf("begin the migration: %w", err)
	}
	return nil
}
