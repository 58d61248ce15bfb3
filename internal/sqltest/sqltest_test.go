package sqltest_test

import (
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/database"
	"github.com/waybillhq/waybill/internal/devsql"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), statement)
	must(t, err)
}

func ask(t *testing.T, db *sql.DB, question string) (answer string) {
	t.Helper()
	must(t, db.QueryRowContext(t.Context(), question).Scan(&answer))
	return answer
}

// The table has the same name in all: a database that were shared would have it already.
func TestEach(t *testing.T) {
	t.Parallel()
	runs := map[string]int{}
	for range 2 {
		sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
			runs[d.Driver]++
			db := d.Open(t)
			run(t, db, "CREATE TABLE t (n INTEGER)")
			run(t, db, "INSERT INTO t VALUES (10)")
			if got := ask(t, d.Open(t), "SELECT sum(n) FROM t"); got != "10" {
				t.Errorf("another connection reads %s", got)
			}
			viaURL, kind, err := database.Open(t.Context(), d.URL)
			must(t, err)
			defer viaURL.Close()
			if got := ask(t, viaURL, "SELECT sum(n) FROM t"); got != "10" || kind != d.Dialect {
				t.Errorf("by the URL, %s reads %s", kind, got)
			}
		})
	}
	for _, driver := range []string{"pgx", "mysql", "sqlite", "sqlite3"} {
		absent := runs[driver] == 0 && driver != "sqlite" && os.Getenv("CI") == ""
		if runs[driver] != 2 && !absent {
			t.Errorf("%d runs with %s, want 2", runs[driver], driver)
		}
	}
}

func TestDatabase_With(t *testing.T) {
	t.Parallel()
	t.Run("mariadb counts found rows", func(t *testing.T) {
		t.Parallel()
		d := sqltest.MariaDB(t)
		run(t, d.Open(t), "CREATE TABLE t (n INTEGER)")
		run(t, d.Open(t), "INSERT INTO t VALUES (1)")
		for name, want := range map[*sqltest.Database]int64{d: 0, d.With("clientFoundRows", "true"): 1} {
			r, err := name.Open(t).ExecContext(t.Context(), "UPDATE t SET n=1")
			must(t, err)
			if got, err := r.RowsAffected(); got != want || err != nil {
				t.Errorf("%d rows with %s, %v", got, name.DSN, err)
			}
		}
	})
	t.Run("postgresql sets a run-time parameter", func(t *testing.T) {
		t.Parallel()
		d := sqltest.Postgres(t).With("application_name", "a b")
		if got := ask(t, d.Open(t), "SHOW application_name"); got != "a b" {
			t.Errorf("is %q", got)
		}
	})
}

func TestShared(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, question, want string }{
		{"postgresql", "SHOW fsync", "off"},
		{"postgresql", "SHOW max_connections", "200"},
		{"postgresql", "SHOW listen_addresses", ""},
		{"postgresql", "SHOW server_encoding", "UTF8"},
		{"mariadb", "SELECT @@max_connections", "200"},
		{"mariadb", "SELECT @@skip_networking", "1"},
		{"mariadb", "SELECT @@tx_isolation", "REPEATABLE-READ"},
		{"mariadb", "SELECT @@default_storage_engine", "InnoDB"},
		{"mariadb", "SELECT @@character_set_database", "utf8mb4"},
	}
	give := map[string]func(testing.TB) *sqltest.Database{"postgresql": sqltest.Postgres, "mariadb": sqltest.MariaDB}
	for _, c := range cases {
		t.Run(c.name+" "+c.question, func(t *testing.T) {
			t.Parallel()
			if got := ask(t, give[c.name](t).Open(t), c.question); got != c.want {
				t.Errorf("is %q, want %q", got, c.want)
			}
		})
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	settings := map[dialect.Dialect]string{
		dialect.PostgreSQL: "deadlock_timeout=123ms",
		dialect.MariaDB:    "innodb_lock_wait_timeout=7",
	}
	for kind, setting := range settings {
		t.Run(string(kind)+" is durable, takes settings, keeps what was committed and ends with its test", func(t *testing.T) {
			t.Parallel()
			var s *devsql.Server
			t.Run("test", func(t *testing.T) {
				s = sqltest.Start(t, kind, devsql.Options{Settings: []string{setting}})
				d := sqltest.On(t, s)
				durable(t, d)
				run(t, d.Open(t), "CREATE TABLE t (n INTEGER)")
				run(t, d.Open(t), "INSERT INTO t VALUES (10)")
				pid := s.PID()
				s.Kill()
				must(t, s.Restart(t.Context()))
				if s.PID() == pid {
					t.Error("the process is the same")
				}
				if got := ask(t, d.Open(t), "SELECT sum(n) FROM t"); got != "10" {
					t.Errorf("reads %s after a kill", got)
				}
				must(t, s.Stop())
			})
			waitGone(t, s.PID(), s.Dir(), time.Now().Add(10*time.Second))
		})
	}
}

// durable looks at what makes a commit durable, and at the setting that was given.
func durable(t *testing.T, d *sqltest.Database) {
	t.Helper()
	question := "SELECT concat_ws(' ', current_setting('fsync'), current_setting('full_page_writes'), current_setting('deadlock_timeout'))"
	want := "on on 123ms"
	if d.Dialect == dialect.MariaDB {
		question = "SELECT concat_ws(' ', @@innodb_flush_log_at_trx_commit, @@innodb_flush_method, @@innodb_doublewrite, @@innodb_lock_wait_timeout)"
		want = "1 O_DIRECT ON 7"
	}
	if got := ask(t, d.Open(t), question); got != want {
		t.Errorf("settings are %q, want %q", got, want)
	}
}

func BenchmarkStart(b *testing.B) {
	for _, kind := range []dialect.Dialect{dialect.PostgreSQL, dialect.MariaDB} {
		b.Run(string(kind), func(b *testing.B) {
			for b.Loop() {
				if err := sqltest.Start(b, kind, devsql.Options{NoSync: true}).Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOn(b *testing.B) {
	for _, give := range []func(testing.TB) *sqltest.Database{sqltest.Postgres, sqltest.MariaDB} {
		b.Run(give(b).Driver, func(b *testing.B) {
			for b.Loop() {
				give(b)
			}
		})
	}
}
