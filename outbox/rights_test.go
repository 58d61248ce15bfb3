package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

// What docs/guides/outbox.md says a user of the database needs.
var rights = map[string]map[outbox.Dialect][]string{
	"producer": {
		outbox.PostgreSQL: {"SELECT, INSERT ON waybill_outbox"},
		outbox.MariaDB:    {"SELECT, INSERT, UPDATE ON waybill_outbox"},
	},
	"relay": {
		outbox.PostgreSQL: {"SELECT, UPDATE, DELETE ON waybill_outbox", "SELECT, INSERT, UPDATE ON waybill_outbox_queue", "SELECT, INSERT ON waybill_outbox_name"},
		outbox.MariaDB: {
			"SELECT, UPDATE, DELETE ON waybill_outbox", "SELECT, INSERT, UPDATE ON waybill_outbox_queue", "SELECT, INSERT, UPDATE ON waybill_outbox_name",
		},
	},
	"reader": {
		outbox.PostgreSQL: {"SELECT ON waybill_outbox", "SELECT ON waybill_outbox_queue", "SELECT ON waybill_outbox_name"},
		outbox.MariaDB:    {"SELECT ON waybill_outbox", "SELECT ON waybill_outbox_queue", "SELECT ON waybill_outbox_name"},
	},
}

// as gives a stand's outbox to a new user of the database who has only the rights of a part.
func (s *stand) as(part string) *stand {
	s.t.Helper()
	name := fmt.Sprintf("%s%d", part, time.Now().UnixNano()%1e9)
	exec := func(text string) {
		s.t.Helper()
		if _, err := s.db.ExecContext(s.t.Context(), text); err != nil {
			s.t.Fatal(err)
		}
	}
	role, grantee := "CREATE ROLE "+name+" LOGIN", name
	if s.d.Dialect != outbox.PostgreSQL {
		grantee = name + "@'%'"
		role = "CREATE USER " + grantee
	}
	exec(role)
	for _, right := range rights[part][s.d.Dialect] {
		exec("GRANT " + right + " TO " + grantee)
	}
	return s.login(name)
}

// login is the stand as a user of that name.
func (s *stand) login(name string) *stand {
	s.t.Helper()
	d := *s.d
	d.DSN = strings.Replace(strings.Replace(d.DSN, "postgres@", name+"@", 1), "root@", name+"@", 1)
	db := d.Open(s.t)
	box, err := outbox.New(db, d.Dialect, outbox.Options{Poll: 5 * time.Millisecond, Read: 10 * time.Millisecond})
	if err != nil {
		s.t.Fatal(err)
	}
	return &stand{t: s.t, d: &d, db: db, box: box, rdb: s.rdb, c: s.c}
}

func TestOutbox_rights(t *testing.T) {
	t.Parallel()
	for name, give := range map[string]func(testing.TB) *sqltest.Database{"postgresql": sqltest.Postgres, "mariadb": sqltest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, give(t), outbox.Options{})
			producer, relay, reader := s.as("producer"), s.as("relay"), s.as("reader")
			if st, err := reader.box.Stats(t.Context()); err != nil || st.Name != "" {
				t.Errorf("before the first relay: %+v, %v", st, err)
			}
			if seen, err := reader.box.Look(t.Context(), s.c); err != nil || len(seen) != 0 {
				t.Errorf("%+v, %v", seen, err)
			}
			producer.enter(request("a"), request("b"))
			if out, err := producer.many(request("a"), other(request("a"))); outcomes(out) != "duplicate conflict" {
				t.Errorf("%+v, %v", out, err)
			}
			if err := reader.in(func(tx *sql.Tx) error { return reader.box.Enqueue(t.Context(), tx, request("c")) }); err == nil {
				t.Error("one who may only read has entered a job")
			}
			stop := relay.relay()
			until(t, "all are sent", func() bool { return reader.rows().Sent == 2 })
			s.work(func(context.Context, *waybill.Attempt) error { return nil })
			until(t, "their ends are known", func() bool { return reader.rows().Ended == 2 })
			stop()
			relay.replay(outbox.ReplayOptions{Queues: []string{"q"}})
			until(t, "what ended is purged", func() bool {
				_, err := relay.box.Purge(t.Context(), time.Second, nil)
				return err == nil && reader.rows().Ended == 0
			})
			if st, err := reader.box.Stats(t.Context()); err != nil || st.Name == "" {
				t.Errorf("%+v, %v", st, err)
			}
		})
	}
}

// A relay in the application takes at most two connections, and does with one that it shares.
func TestRelay_connections(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		for _, most := range []int{1, 20} {
			s := newStand(t, d, outbox.Options{})
			s.db.SetMaxOpenConns(most)
			s.db.SetMaxIdleConns(most)
			var n int
			stop := s.relay()
			for i := range 50 {
				s.enter(waybill.Request{Queue: fmt.Sprintf("q%d", i%5), Kind: "k", Payload: []byte("x")})
				n = max(n, s.db.Stats().OpenConnections)
			}
			until(t, "all are sent", func() bool { return s.inState("sent") == int64(50) })
			stop()
			if n = max(n, s.db.Stats().OpenConnections); n > min(most, 3) {
				t.Errorf("%d connections, one of them the test's", n)
			}
		}
	})
}
