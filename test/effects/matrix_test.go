package effects_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/test/effects"
	"github.com/waybillhq/waybill/test/fault/extent"
)

// TestMatrix kills twenty workers at every step on every database, each with a job of its own in flight.
func TestMatrix(t *testing.T) {
	const kills = 20
	began := time.Now()
	var played table
	t.Run("cells", func(t *testing.T) {
		for _, on := range []struct {
			name string
			give func(testing.TB) *sqltest.Database
			pgx  bool
		}{
			{"sqlite", sqltest.SQLite, false},
			{"postgresql", sqltest.Postgres, false},
			{"postgresql by pgx", sqltest.Postgres, true},
			{"mariadb", sqltest.MariaDB, false},
		} {
			for _, die := range effects.Steps() {
				t.Run(fmt.Sprintf("%s: %s leaves each effect once", on.name, die), func(t *testing.T) {
					t.Parallel()
					l := plan{database: on.give(t), pgx: on.pgx, die: die, jobs: kills}.run(t)
					for _, text := range append(l.check(), l.checkKills()...) {
						t.Error(text)
					}
					played.add(on.name, l)
				})
			}
		}
	})
	t.Logf("\n%s", played.String())
	played.sum().Write(t, began)
}

// table is what was counted in the cells.
type table struct {
	mu    sync.Mutex
	lines map[string]ledger
}

func (t *table) add(database string, l ledger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines == nil {
		t.lines = map[string]ledger{}
	}
	t.lines[database+"\t"+string(l.die)] = l
}

// sum is what all cells come to.
func (t *table) sum() extent.Sum {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := extent.Sum{Tier: "receipts, killed"}
	for _, l := range t.lines {
		s.Faults, s.Kills = s.Faults+int64(len(l.deaths)), s.Kills+int64(len(l.deaths))
		s.Jobs, s.Deliveries = s.Jobs+int64(len(l.jobs)), s.Deliveries+l.stats.Deliveries
		s.Effects, s.Doubled = s.Effects+int64(l.effectRows()), s.Doubled+int64(max(0, l.effectRows()-l.rows))
		s.Lost += int64(max(0, l.plan.jobs-l.effectRows()))
	}
	return s
}

func (t *table) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "killed\tdatabase\tkills\tdeliveries\teffects\treceipts")
	for _, die := range effects.Steps() {
		for _, database := range []string{"sqlite", "postgresql", "postgresql by pgx", "mariadb"} {
			if l, ok := t.lines[database+"\t"+string(die)]; ok {
				fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\n", die, database, len(l.deaths), l.stats.Deliveries, l.effectRows(), l.rows)
			}
		}
	}
	_ = w.Flush()
	return b.String()
}
