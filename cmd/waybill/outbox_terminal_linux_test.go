package main_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

func TestOutbox_terminal(t *testing.T) {
	t.Parallel()
	s, d := redistest.Start(t), sqltest.SQLite(t)
	db := d.Open(t)
	_, err := outbox.Migrate(t.Context(), db, d.Dialect, outbox.Options{})
	must(t, err)
	must(t, inTx(t.Context(), d.URL, "q", "a", "b"))
	if got := newTerminal(t, 200).run(s, "", "outbox", "relay", "--until-empty", "--read", "10ms", "--database", d.URL); got != 0 {
		t.Fatalf("relay: status %d", got)
	}
	must(t, s.Client().FlushAll(t.Context()).Err())
	t.Run("a loss is red", func(t *testing.T) {
		term := newTerminal(t, 200)
		if got := term.run(s, "", "outbox", "status", "--database", d.URL); got != 1 {
			t.Errorf("status %d", got)
		}
		until(t, "it is red", func() bool {
			return strings.Contains(term.text(), "\x1b[31mredis lost data\x1b[0m") &&
				strings.Contains(term.text(), "\x1b[31mwarning: queue q: redis lost data, ")
		})
	})
	t.Run("a replay asks with its counts, and does nothing without a yes", func(t *testing.T) {
		term := newTerminal(t, 200)
		if got := term.run(s, "n", "outbox", "replay", "--database", d.URL); got != 1 {
			t.Errorf("status %d after a no", got)
		}
		until(t, "it says what it would do", func() bool {
			return strings.Contains(term.text(), "queue q: would do: jobs that had ended: deleted 0, cancelled 0; unfinished: sent 2,") &&
				strings.Contains(term.text(), "Replay 1 queue: send 2 jobs, delete or cancel 0 jobs that had ended? [y/N] n\r\nwaybill: nothing was changed\r\n")
		})
		if n, err := s.Client().DBSize(t.Context()).Result(); err != nil || n != 0 {
			t.Errorf("%d keys after a no, %v", n, err)
		}
		if got := term.run(s, "y", "outbox", "replay", "--database", d.URL); got != 0 {
			t.Errorf("status %d after a yes: %s", got, term.text())
		}
		st, err := client(t, s).Queue("q").Stats(t.Context())
		if must(t, err); st.Ready != 2 || st.PausedBy != "" {
			t.Errorf("%+v", st)
		}
	})
	t.Run("a purge and a retry ask", func(t *testing.T) {
		change := func(statement string) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		change("UPDATE waybill_outbox SET state = 2, ended_ms = 1 WHERE id = 'a'")
		change("UPDATE waybill_outbox SET state = 5, reason = 'why' WHERE id = 'b'")
		for _, verb := range []string{"purge", "retry --all"} {
			term := newTerminal(t, 200)
			args := append(append([]string{"outbox"}, strings.Fields(verb)...), "--database", d.URL)
			if got := term.run(s, "n", args...); got != 1 {
				t.Errorf("%s: status %d after a no: %s", verb, got, term.text())
			}
			if got := states(t, db); got != "2 5 " {
				t.Errorf("%s: states %s after a no", verb, got)
			}
		}
		for _, verb := range []string{"purge", "retry --all"} {
			args := append(append([]string{"outbox"}, strings.Fields(verb)...), "--database", d.URL)
			if got := newTerminal(t, 200).run(s, "y", args...); got != 0 {
				t.Errorf("%s: status %d after a yes", verb, got)
			}
		}
		if got := states(t, db); got != "0 " {
			t.Errorf("states %s after a yes", got)
		}
	})
	t.Run("a discard of all asks, and says that the jobs never run", func(t *testing.T) {
		if _, err := db.ExecContext(t.Context(), "UPDATE waybill_outbox SET state = 5"); err != nil {
			t.Fatal(err)
		}
		term := newTerminal(t, 200)
		if got := term.run(s, "n", "outbox", "discard", "--all", "--database", d.URL); got != 1 || states(t, db) != "5 " {
			t.Errorf("status %d after a no, states %s", got, states(t, db))
		}
		until(t, "it says what it would do", func() bool {
			return strings.Contains(term.text(), "Discard 1 row: its job never runs? [y/N] n")
		})
		if got := newTerminal(t, 200).run(s, "y", "outbox", "discard", "--all", "--database", d.URL); got != 0 || states(t, db) != "" {
			t.Errorf("status %d after a yes, states %s", got, states(t, db))
		}
	})
}

// states are those of all rows, in order.
func states(t *testing.T, db *sql.DB) (all string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT state FROM waybill_outbox ORDER BY seq")
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var state string
		must(t, rows.Scan(&state))
		all += state + " "
	}
	must(t, rows.Err())
	return all
}
