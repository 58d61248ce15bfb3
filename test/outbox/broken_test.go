package outboxtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/sqltest"
	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

// TestBroken plays relays that are made wrong: the checks find the rows that they skip. What makes them skip some is done on
// purpose: a relay that goes by a cursor is overtaken, one that marks first is killed when it has marked.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, on := range []struct {
		name     string
		give     func(testing.TB) *sqltest.Database
		build    outboxtest.Build
		sessions int
	}{
		{"postgresql", sqltest.Postgres, outboxtest.Cursor, 10},
		{"postgresql", sqltest.Postgres, outboxtest.MarkFirst, 10},
		{"mariadb", sqltest.MariaDB, outboxtest.Cursor, 10},
		{"sqlite", sqltest.SQLite, outboxtest.MarkFirst, 1},
	} {
		t.Run(fmt.Sprintf("%s: a relay made %q skips rows, and is found", on.name, on.build), func(t *testing.T) {
			t.Parallel()
			m := mix{sessions: on.sessions, rows: 300, held: 100 * time.Millisecond, build: on.build, seed: seed(t), kills: 3}
			if m.sessions == 1 {
				m.held = 3 * time.Millisecond
			}
			p := m.play(newStand(t, on.give(t)))
			found := p.check()
			if found.with("skipped") == 0 || found.with("never")+found.with("app") > 0 {
				t.Errorf("found %q", found)
			}
			t.Logf("%d rows skipped", found.with("skipped"))
		})
	}
}

// overtake commits rows when the cursor of a relay has passed rows that were entered after them.
func (p *played) overtake() {
	p.Helper()
	early, commitEarly := p.open("early", 5)
	defer early.end()
	late, commitLate := p.open("late", 5)
	defer late.end()
	commitLate()
	relay := p.start(p.relayOrders())
	p.until("the cursor is past them", func() bool { return p.count("SELECT count(*) FROM seen WHERE seq > 0") > 0 })
	relay.Kill()
	commitEarly()
}

// open begins a transaction that has entered jobs.
func (p *played) open(name string, jobs int) (tx transaction, commit func()) {
	p.Helper()
	tx, err := p.begin(p.Context())
	must(p.T, err)
	must(p.T, tx.enqueue(p.Context(), names(name, jobs)))
	must(p.T, tx.note(p.Context(), name, jobs))
	return tx, func() {
		p.Helper()
		must(p.T, p.commit(context.WithoutCancel(p.Context()), tx, name, jobs))
	}
}
