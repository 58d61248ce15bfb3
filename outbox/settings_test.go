package outbox_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

// settings are databases as users set them up, and their connections.
func settings() map[string]func(testing.TB) *sqltest.Database {
	all := map[string]func(testing.TB) *sqltest.Database{}
	with := func(name string, give func(testing.TB) *sqltest.Database, pairs ...string) {
		all[name] = func(t testing.TB) *sqltest.Database {
			d := give(t)
			for i := 0; i < len(pairs); i += 2 {
				d = d.With(pairs[i], pairs[i+1])
			}
			return d
		}
	}
	for _, mode := range []string{"simple_protocol", "exec", "cache_describe", "describe_exec"} {
		with("pgx "+mode, sqltest.Postgres, "default_query_exec_mode", mode)
	}
	with("postgresql serializable, an old zone", sqltest.Postgres, "timezone", "Asia/Kathmandu", "default_transaction_isolation", "serializable")
	with("postgresql without standard strings", sqltest.Postgres, "standard_conforming_strings", "off", "escape_string_warning", "off",
		"bytea_output", "escape")
	with("mariadb interpolated", sqltest.MariaDB, "interpolateParams", "true", "sql_mode", "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES'")
	with("mariadb interpolated, not strict", sqltest.MariaDB, "interpolateParams", "true", "sql_mode", "''", "time_zone", "'-11:00'")
	with("mariadb another zone", sqltest.MariaDB, "time_zone", "'+05:00'", "loc", "Asia/Tokyo", "parseTime", "true", "clientFoundRows", "true")
	with("mariadb latin1, serializable", sqltest.MariaDB, "charset", "latin1", "tx_isolation", "'SERIALIZABLE'")
	plain := func(give func(testing.TB) *sqltest.Database, settings string) func(testing.TB) *sqltest.Database {
		return func(t testing.TB) *sqltest.Database {
			d := give(t)
			d.DSN = "file:" + (&url.URL{Path: filepath.Join(t.TempDir(), "plain.db")}).EscapedPath() + settings
			return d
		}
	}
	all["sqlite3 without settings"] = plain(sqltest.SQLiteCgo, "") // it waits 5 s for a lock by itself
	all["sqlite3 with foreign keys"] = plain(sqltest.SQLiteCgo, "?_fk=1")
	all["sqlite with no more than a time to wait for a lock"] = plain(sqltest.SQLite, "?_pragma=busy_timeout(5000)")
	all["sqlite with foreign keys"] = plain(sqltest.SQLite, "?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)")
	return all
}

func TestOutbox_settings(t *testing.T) {
	t.Parallel()
	for name, give := range settings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb, prefix := redistest.Shared(t)
			newStandOn(t, give(t), outbox.Options{}, rdb, prefix).life()
		})
	}
}

func TestOutbox_tables(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		tables := []string{"wb2_", "a_name_of_forty_characters_as_they_come_"}
		if d.Dialect == outbox.PostgreSQL {
			if _, err := d.Open(t).ExecContext(t.Context(), "CREATE SCHEMA jobs"); err != nil {
				t.Fatal(err)
			}
			tables = append(tables, "jobs.waybill_", "jobs.")
		}
		if d.Dialect == outbox.MariaDB {
			var name string
			if err := d.Open(t).QueryRowContext(t.Context(), "SELECT database()").Scan(&name); err != nil {
				t.Fatal(err)
			}
			tables = append(tables, name+".wb3_")
		}
		for _, prefix := range tables {
			t.Run(prefix, func(t *testing.T) {
				rdb, keys := redistest.Shared(t)
				newStandOn(t, d, outbox.Options{Tables: prefix}, rdb, keys).life()
			})
		}
	})
}

// odd is a payload that a literal has to be careful with.
var odd = []byte("\\'\"`\x00\xff\\0;--$1?")

// life runs all that an outbox does, and all its statements.
func (s *stand) life() {
	t := s.t
	t.Helper()
	began := time.Now().Add(-5 * time.Millisecond)
	a, key := request("it's"), `k'e\"y$1?`
	a.Payload, a.Headers = odd, map[string]string{"h": `\'"ä`}
	later := request("later")
	later.Delay = time.Hour
	if err := s.retried(func(tx *sql.Tx) error {
		return errors.Join(s.box.Enqueue(t.Context(), tx, a, later, request(`b\'"ä`)),
			s.box.EnqueueInOrder(t.Context(), tx, key, request("k1"), request("k2")))
	}); err != nil {
		t.Fatal(err)
	}
	entered := time.Now().Add(5 * time.Millisecond)
	var out []waybill.Enqueued
	if err := s.retried(func(tx *sql.Tx) (err error) {
		out, err = s.box.EnqueueMany(t.Context(), tx, []waybill.Request{a, other(a), request("new"), request("new"), request(`b\'"ä`)})
		if errors.Is(err, outbox.ErrConflict) {
			err = nil
		}
		return err
	}); err != nil || outcomes(out) != "duplicate conflict accepted duplicate duplicate" {
		t.Errorf("%s, %v", outcomes(out), err)
	}
	if lag, err := s.box.Lag(t.Context()); err != nil || len(lag) != 1 || lag[0].New != 6 || lag[0].Oldest.Before(began) || lag[0].Oldest.After(entered) {
		t.Errorf("%+v, %v", lag, err)
	}
	taken := request("new")
	taken.Payload = odd
	if _, err := s.c.Enqueue(t.Context(), taken); err != nil { // another one is quicker: the row is set aside
		t.Fatal(err)
	}
	stop := s.relay()
	until(t, "all are sent", func() bool { r := s.rows(); return r.Sent == 5 && r.SetAside == 1 })
	j, err := s.c.Queue("q").Get(t.Context(), a.ID)
	if err != nil || !bytes.Equal(j.Payload, odd) || j.Headers["h"] != a.Headers["h"] || j.BornAt.Before(began) || j.BornAt.After(entered) {
		t.Errorf("%+v, %v", j, err)
	}
	if all, err := s.box.SetAside(t.Context(), 0, 10); err != nil || len(all) != 1 || all[0].ID != "new" || all[0].EnteredAt.Before(began) {
		t.Errorf("%+v, %v", all, err)
	}
	if n, err := s.box.Retry(t.Context(), "q", "nobody"); n != 0 || err != nil {
		t.Errorf("retried %d, %v", n, err)
	}
	if n, err := s.box.Retry(t.Context(), "", ""); n != 1 || err != nil {
		t.Errorf("retried %d, %v", n, err)
	}
	until(t, "it is set aside again", func() bool { return s.rows().SetAside == 1 })
	s.end(stop, a.ID)
}

// end is the later part of a life.
func (s *stand) end(stop func(), odd string) {
	t := s.t
	t.Helper()
	rest := s.work(func(_ context.Context, a *waybill.Attempt) error {
		if a.ID == odd {
			return errors.New("it fails")
		}
		return nil
	})
	until(t, "their ends are known", func() bool { r := s.rows(); return r.Ended == 3 && r.Dead == 1 && r.Sent == 1 && r.Unread == 0 })
	rest()
	stop()
	for range 2 {
		r := s.replay(outbox.ReplayOptions{Queues: []string{"q"}})
		if r.Known != 2 || r.Sent+r.Dead+r.SetAside != 0 || !r.Done {
			t.Errorf("replayed %+v", r)
		}
	}
	ago, err := s.box.CountPurge(t.Context(), time.Hour)
	if err != nil || ago != 0 {
		t.Errorf("%d rows ended an hour ago, %v", ago, err)
	}
	until(t, "all that ended is purged", func() bool {
		if _, err := s.box.Purge(t.Context(), time.Second, nil); err != nil {
			t.Fatal(err)
		}
		return s.rows().Ended == 0
	})
	if seen, err := s.box.Look(t.Context(), s.c); err != nil || len(seen) != 1 || seen[0].Lost != "" {
		t.Errorf("%+v, %v", seen, err)
	}
}

// retried is in, again and again where it is to be run again.
func (s *stand) retried(f func(tx *sql.Tx) error) (err error) {
	s.t.Helper()
	for range 10 {
		if err = s.in(f); !errors.Is(err, outbox.ErrRetry) {
			return err
		}
	}
	return err
}
