package database

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/waybillhq/waybill/internal/dialect"
)

// sqliteDefault is a setting that is added unless the URL has one of the names, or the pragma.
type sqliteDefault struct{ name, alias, pragma, value string }

// WAL, so that readers and the writer don't block each other; FULL, so that a commit that was followed by an ack
// survives a power cut; immediate, since a transaction that reads and then writes fails at once with SQLITE_BUSY
// when another wrote in between, and no timeout helps.
func sqliteDefaults() []sqliteDefault {
	return []sqliteDefault{
		{"_busy_timeout", "_timeout", "busy_timeout", "5000"},
		{"_journal_mode", "_journal", "journal_mode", "WAL"},
		{"_synchronous", "_sync", "synchronous", "FULL"},
		{"_txlock", "", "", "immediate"},
	}
}

func openSQLite(u *url.URL) (*sql.DB, error) {
	path, err := sqlitePath(u)
	if err != nil {
		return nil, err
	}
	// The path is escaped: SQLite decodes it, and a "?" in it would end it.
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + withSQLiteDefaults(u.RawQuery, u.Query())
	return sql.Open("sqlite", dsn)
}

// sqlitePath reads sqlite:relative, sqlite:/absolute and sqlite:///absolute.
func sqlitePath(u *url.URL) (string, error) {
	if u.Host != "" || u.User != nil {
		return "", errors.New("it names a host, and a file has none (a relative path has no slashes before it)")
	}
	path := u.Path
	if u.Opaque != "" {
		var err error
		if path, err = url.PathUnescape(u.Opaque); err != nil {
			return "", errors.New("the path has a % that is not followed by two hexadecimal digits")
		}
	}
	switch {
	case path == "" || strings.HasSuffix(path, "/"):
		return "", errors.New("it names no file")
	case strings.HasPrefix(path, ":memory:") || u.Query().Get("mode") == "memory":
		return "", errors.New("a database in memory is lost with its connection; name a file")
	}
	return path, nil
}

func withSQLiteDefaults(raw string, given url.Values) string {
	for _, d := range sqliteDefaults() {
		if given.Has(d.name) || d.alias != "" && given.Has(d.alias) || hasPragma(given["_pragma"], d.pragma) {
			continue
		}
		if raw != "" {
			raw += "&"
		}
		raw += d.name + "=" + d.value
	}
	return raw
}

// hasPragma reads pragmas as SQLite does: name(value) or name=value.
func hasPragma(pragmas []string, name string) bool {
	for _, p := range pragmas {
		if i := strings.IndexAny(p, "(="); i >= 0 {
			p = p[:i]
		}
		if name != "" && strings.EqualFold(strings.TrimSpace(p), name) {
			return true
		}
	}
	return false
}

// askSQLite reads the file's schema: a ping alone does not notice a file that is no database.
func askSQLite(ctx context.Context, db *sql.DB) (dialect.Dialect, error) {
	var n int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n); err != nil {
		return "", err
	}
	return dialect.SQLite, nil
}
