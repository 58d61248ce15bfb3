package sqltest

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
	_ "modernc.org/sqlite"          // the driver "sqlite"

	"github.com/waybillhq/waybill/internal/dialect"
)

// Database is an empty database that belongs to one test.
type Database struct {
	Dialect dialect.Dialect
	URL     string // as internal/database and the command line read it
	Driver  string // in database/sql: "pgx", "mysql", "sqlite" (modernc.org/sqlite) or "sqlite3" (mattn/go-sqlite3)
	DSN     string // for Driver; for PostgreSQL also for pgx itself
}

// sqliteSettings are read alike by both drivers. Nothing is synced: no test cuts the power.
const sqliteSettings = "?_busy_timeout=5000&_journal_mode=WAL&_synchronous=OFF&_txlock=immediate"

// SQLite gives a file and the driver modernc.org/sqlite, which is the one that internal/database uses. Transactions
// are immediate, the log is a WAL, the busy timeout is 5 s.
func SQLite(t testing.TB) *Database {
	t.Helper()
	file := &url.URL{Path: filepath.Join(t.TempDir(), "test.db")}
	return &Database{
		Dialect: dialect.SQLite,
		URL:     "sqlite://" + file.EscapedPath() + sqliteSettings,
		Driver:  "sqlite",
		DSN:     "file:" + file.EscapedPath() + sqliteSettings,
	}
}

// SQLiteCgo is SQLite with the driver mattn/go-sqlite3, which needs cgo.
func SQLiteCgo(t testing.TB) *Database {
	t.Helper()
	d := SQLite(t)
	d.Driver = "sqlite3"
	d.Open(t) // skips without cgo
	return d
}

// Each runs a subtest on each database, one after the other unless f makes them parallel.
func Each(t *testing.T, f func(t *testing.T, d *Database)) {
	t.Helper()
	for _, c := range []struct {
		name string
		give func(testing.TB) *Database
	}{
		{"postgresql", Postgres},
		{"mariadb", MariaDB},
		{"sqlite", SQLite},
		{"sqlite with cgo", SQLiteCgo},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Helper()
			f(t, c.give(t))
		})
	}
}

// With returns the same database with one more parameter in its DSN and URL, as ("clientFoundRows", "true").
func (d *Database) With(name, value string) *Database {
	pair := url.PathEscape(name) + "=" + strings.ReplaceAll(url.QueryEscape(value), "+", "%20") // pgx keeps a plus
	c := *d
	c.DSN, c.URL = withPair(d.DSN, pair), withPair(d.URL, pair)
	return &c
}

func withPair(address, pair string) string {
	if strings.Contains(address, "?") {
		return address + "&" + pair
	}
	return address + "?" + pair
}

// Open opens the database and connects to it. It is closed when the test ends.
func (d *Database) Open(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open(d.Driver, d.DSN)
	if err != nil {
		t.Fatalf("sqltest: open %s: %v", d.Driver, err)
	}
	t.Cleanup(func() { _ = db.Close() }) // it fails where the test killed the server
	err = db.PingContext(t.Context())
	if err != nil && d.Driver == "sqlite3" && strings.Contains(err.Error(), "CGO_ENABLED=0") && os.Getenv("CI") == "" {
		t.Skip(noCgo)
	}
	if err != nil {
		t.Fatalf("sqltest: connect to %s: %v", d.Driver, err)
	}
	return db
}
