package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/waybillhq/waybill/internal/dialect"
)

// scheme is one kind of URL.
type scheme struct {
	form string // what is right, for errors
	open func(u *url.URL) (*sql.DB, error)
	ask  func(ctx context.Context, db *sql.DB) (dialect.Dialect, error) // asks the server, so it connects
}

var (
	errHost     = errors.New("it names no host")
	errDatabase = errors.New("it names no database")
)

func schemeOf(name string) (s scheme, ok bool) {
	switch name {
	case "postgres", "postgresql":
		return scheme{"postgres://user:password@host:5432/database", openPostgres, askPostgres}, true
	case "mariadb", "mysql":
		form := name + "://user:password@host:3306/database or " + name + "://user@/database?socket=/path"
		return scheme{form, openMySQL, askMySQL}, true
	case "sqlite":
		return scheme{"sqlite:///absolute/path.db or sqlite:relative.db", openSQLite, askSQLite}, true
	}
	return scheme{}, false
}

// Open opens the database at the URL, connects to it once, and says what it is. The context bounds the connecting,
// not the database's life: the caller closes it. It fails with [ErrURL] or [ErrConnect]; no error has the password
// in it. A SQLite file that is missing is made, its directory is not.
func Open(ctx context.Context, rawURL string) (*sql.DB, dialect.Dialect, error) {
	u, s, err := parse(rawURL)
	if err != nil {
		return nil, "", err
	}
	secrets := secretsOf(u)
	db, err := s.open(u)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %s URL: %w; right is %s", ErrURL, u.Scheme, conceal(err, secrets), s.form)
	}
	d, err := s.ask(ctx, db)
	if err != nil {
		_ = db.Close() // the error that counts is the first
		return nil, "", fmt.Errorf("%w %s: %w", ErrConnect, Redact(rawURL), conceal(err, secrets))
	}
	return db, d, nil
}

// parse drops the causes of [url.Parse]: they quote the URL, and the part that is wrong is mostly the password.
func parse(rawURL string) (*url.URL, scheme, error) {
	name, _, found := strings.Cut(rawURL, ":")
	s, known := schemeOf(strings.ToLower(name))
	switch {
	case !found:
		return nil, s, fmt.Errorf("%w: it has no scheme; right is sqlite:path, or postgres://, mariadb:// or mysql:// and the address", ErrURL)
	case !known:
		return nil, s, fmt.Errorf("%w: unknown scheme %q; right is sqlite:path, or postgres://, mariadb:// or mysql:// and the address", ErrURL, name)
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, s, fmt.Errorf("%w: %s URL is malformed; right is %s, with special characters in user and password as %%XX", ErrURL, name, s.form)
	}
	if _, err := url.ParseQuery(u.RawQuery); err != nil {
		return nil, s, fmt.Errorf("%w: %s URL: malformed parameters; right is ?name=value&name=value, with special characters as %%XX", ErrURL, name)
	}
	return u, s, nil
}
