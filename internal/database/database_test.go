package database_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/database"
	"github.com/waybillhq/waybill/internal/dialect"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fileURL escapes: the directory is named after the test.
func fileURL(t *testing.T) string {
	t.Helper()
	return (&url.URL{Scheme: "sqlite", Path: filepath.Join(t.TempDir(), "a.db")}).String()
}

func TestOpen_wrongURL(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, url, says string }{
		{"empty", "", "no scheme"},
		{"a path", "/var/lib/app.db", "no scheme"},
		{"another database", "oracle://app:s3cret@host/db", `unknown scheme "oracle"`},
		{"a driver's DSN", "app:s3cret@tcp(host:3306)/db", "unknown scheme"},
		{"a slash in the password", "postgres://app:s3cret/x@host/db", "special characters in user and password as %XX"},
		{"a percent sign in the password", "mariadb://app:s3cret%@host/db", "as %XX"},
		{"a percent sign in a parameter", "postgres://app@host/db?password=s3cret%", "malformed parameters"},
		{"postgres with an unknown sslmode", "postgres://app:s3cret@host/db?sslmode=maybe", "sslmode"},
		{"postgres without slashes", "postgres:db", "names no host"},
		{"mariadb without a database", "mariadb://app:s3cret@host", "names no database"},
		{"mariadb without a host", "mariadb://app:s3cret@/db", "socket=/path"},
		{"mariadb with a wrong parameter", "mariadb://app:s3cret@host/db?tls=maybe", "maybe"},
		{"mysql keeps its name", "mysql://app:s3cret@/db", "mysql://user:password@host"},
		{"sqlite with a host", "sqlite://relative.db", "sqlite:relative.db"},
		{"sqlite without a file", "sqlite:", "names no file"},
		{"sqlite with a directory", "sqlite:///var/lib/", "names no file"},
		{"sqlite in memory", "sqlite::memory:", "lost with its connection"},
		{"sqlite in memory by mode", "sqlite:x?mode=memory", "lost with its connection"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db, d, err := database.Open(t.Context(), c.url)
			if db != nil || d != "" {
				t.Errorf("gave a database, %q", d)
			}
			if !errors.Is(err, database.ErrURL) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v", err)
			}
			if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\n")) {
				t.Errorf("more than a line, or the password: %v", err)
			}
		})
	}
}

func TestOpen_sqlite(t *testing.T) {
	t.Parallel()
	pragma := func(t *testing.T, rawURL, name string) string {
		t.Helper()
		db, d, err := database.Open(t.Context(), rawURL)
		must(t, err)
		defer db.Close()
		if d != dialect.SQLite {
			t.Errorf("dialect is %q", d)
		}
		var value string
		must(t, db.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&value))
		return value
	}
	cases := []struct{ query, pragma, want string }{
		{"", "journal_mode", "wal"},
		{"", "synchronous", "2"}, // FULL
		{"", "busy_timeout", "5000"},
		{"?_timeout=7", "busy_timeout", "7"},
		{"?_busy_timeout=7", "busy_timeout", "7"},
		{"?_busy_timeout=7", "journal_mode", "wal"},
		{"?_pragma=synchronous(NORMAL)", "synchronous", "1"},
		{"?_pragma=Synchronous%20=%20normal", "synchronous", "1"},
		{"?_pragma=foreign_keys(1)", "synchronous", "2"},
		{"?_pragma=foreign_keys(1)", "foreign_keys", "1"},
	}
	for _, c := range cases {
		t.Run(c.pragma+" with "+c.query, func(t *testing.T) {
			t.Parallel()
			if got := pragma(t, fileURL(t)+c.query, c.pragma); got != c.want {
				t.Errorf("is %s, want %s", got, c.want)
			}
		})
	}
	t.Run("a name with special characters is that file", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		pragma(t, "sqlite:"+dir+"/a%20%3Fb%25.db", "journal_mode")
		if _, err := os.Stat(filepath.Join(dir, "a ?b%.db")); err != nil {
			t.Error(err)
		}
	})
}

func TestOpen_sqliteRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.Mkdir("d", 0o700))
	for url, file := range map[string]string{"sqlite:a.db": "a.db", "sqlite:d/b.db": "d/b.db", "sqlite:./c.db": "c.db"} {
		db, _, err := database.Open(t.Context(), url)
		must(t, err)
		must(t, db.Close())
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A transaction that may write takes the lock when it begins.
func TestOpen_sqliteTransactions(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, query string) error {
		db, _, err := database.Open(t.Context(), fileURL(t)+query)
		must(t, err)
		defer db.Close()
		first, err := db.BeginTx(t.Context(), nil)
		must(t, err)
		defer first.Rollback() //nolint:errcheck // nothing was written
		second, err := db.BeginTx(t.Context(), nil)
		if err == nil {
			must(t, second.Rollback())
		}
		return err
	}
	t.Run("are immediate", func(t *testing.T) {
		t.Parallel()
		if err := begin(t, "?_busy_timeout=1"); err == nil {
			t.Error("two write transactions at once")
		}
	})
	t.Run("are deferred if the URL says so", func(t *testing.T) {
		t.Parallel()
		must(t, begin(t, "?_busy_timeout=1&_txlock=deferred"))
	})
}

func TestOpen_noConnection(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	must(t, os.WriteFile(text, []byte(strings.Repeat("no database\n", 100)), 0o600))
	for name, url := range map[string]string{
		"nobody listens for postgres": "postgres://app:s3cret@/db?host=" + dir,
		"nobody listens for mariadb":  "mariadb://app:s3cret@/db?socket=" + dir + "/s",
		"no directory for sqlite":     "sqlite://" + dir + "/missing/a.db",
		"a file that is no database":  "sqlite://" + text,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, _, err := database.Open(t.Context(), url)
			if !errors.Is(err, database.ErrConnect) || errors.Is(err, database.ErrURL) || db != nil {
				t.Fatalf("error is %v", err)
			}
			if text := err.Error(); !strings.Contains(text, database.Redact(url)) || strings.Contains(text, "s3cret") {
				t.Errorf("no URL in it, or the password: %v", err)
			}
		})
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://app:s3cret@host:5432/db?sslmode=disable": "postgres://app:xxxxx@host:5432/db?sslmode=disable",
		"postgres://app@host/db?x=1&password=s3cret&y=2":     "postgres://app@host/db?x=1&password=xxxxx&y=2",
		"postgres://app@host/db?sslPassword=s3cret":          "postgres://app@host/db?sslPassword=xxxxx",
		"postgres://app@host/db?pass%77ord=s3cret":           "postgres://app@host/db?pass%77ord=xxxxx",
		"mariadb://app@/db?socket=/run/s":                    "mariadb://app@/db?socket=/run/s",
		"sqlite:relative.db?_sync=FULL":                      "sqlite:relative.db?_sync=FULL",
		"sqlite:///a/b.db":                                   "sqlite:///a/b.db",
		"postgres://app:s3cret%@host/db":                     "postgres:…",
		"app:s3cret@tcp(host)/db":                            "…",
		"s3cret":                                             "…",
		"":                                                   "…",
	} {
		if got := database.Redact(url); got != want {
			t.Errorf("Redact(%q) = %q, want %q", url, got, want)
		}
	}
}
