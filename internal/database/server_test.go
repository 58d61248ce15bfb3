package database_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/database"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m) }

func TestOpen_postgres(t *testing.T) {
	t.Parallel()
	d := sqltest.Postgres(t)
	for _, scheme := range []string{"postgres:", "postgresql:"} {
		url := scheme + strings.TrimPrefix(d.With("application_name", "a b").URL, "postgres:")
		db, kind, err := database.Open(t.Context(), url)
		must(t, err)
		defer db.Close()
		var name string
		must(t, db.QueryRowContext(t.Context(), "SHOW application_name").Scan(&name))
		if kind != dialect.PostgreSQL || name != "a b" {
			t.Errorf("%s gave %s, application_name %q", scheme, kind, name)
		}
	}
}

func TestOpen_mariadb(t *testing.T) {
	t.Parallel()
	d := sqltest.MariaDB(t)
	for _, scheme := range []string{"mariadb:", "mysql:"} {
		t.Run(scheme+" is MariaDB, with times and the URL's parameters", func(t *testing.T) {
			t.Parallel()
			asked := d.With("parseTime", "false").With("time_zone", "'+03:00'")
			db, kind, err := database.Open(t.Context(), scheme+strings.TrimPrefix(asked.URL, "mariadb:"))
			must(t, err)
			defer db.Close()
			var at time.Time
			var zone string
			must(t, db.QueryRowContext(t.Context(), "SELECT now(), @@time_zone").Scan(&at, &zone))
			if kind != dialect.MariaDB || at.IsZero() || zone != "+03:00" {
				t.Errorf("gave %s, %v, time zone %q", kind, at, zone)
			}
		})
	}
	t.Run("an account that is refused is told without its password", func(t *testing.T) {
		t.Parallel()
		url := strings.Replace(d.URL, "root@", "stranger:s3cret@", 1)
		_, _, err := database.Open(t.Context(), url)
		if !errors.Is(err, database.ErrConnect) || !strings.Contains(err.Error(), "Access denied") {
			t.Fatalf("error is %v", err)
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the password is in it: %v", err)
		}
	})
}
