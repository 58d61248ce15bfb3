package nemesis_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/test/fault/extent"
	"github.com/waybillhq/waybill/test/fault/stage"
)

// How long a run is disturbed: in a short one, and for each grade in a full one.
const (
	short = 10 * time.Second
	long  = time.Minute
)

// least is how many faults have to fire in each second that a run is disturbed: fewer in a short one, for machines may be busy.
const (
	leastShort = 0.3
	leastLong  = 1
)

// grades are what Redis keeps of what it answered when it is killed. A death costs at most so much: with "rdb", where it saves
// every second, a second and what the save takes, and longer by what its clock was set back and what it waits after a full disk; kill -9 leaves what was written and not synced, so nothing with the others.
var grades = []struct {
	name     string
	loss     time.Duration
	database func(testing.TB) *sqltest.Database
}{
	{"always", 0, sqltest.SQLite},
	{"everysec", 2 * time.Second, sqltest.Postgres},
	{"rdb", 20 * time.Second, sqltest.SQLite},
}

// TestNemesis disturbs a run at random. A short one takes one of the grades, another each time.
func TestNemesis(t *testing.T) {
	seed, size := extent.Seed(t), extent.Of(t)
	for i, g := range grades {
		if !size.Full && seed%uint64(len(grades)) != uint64(i) {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			began := time.Now()
			s := stage.New(t, stage.Options{
				Actor: actor, Seed: seed, Grade: g.name, Loss: g.loss, Database: g.database(t), Redis: []redistest.Option{redistest.Preload()},
			})
			n := newNemesis(s, extent.Random(seed), g.name)
			lasts := size.Pick(short, long)
			n.disturb(lasts)
			n.heal()
			n.finish()
			report := s.Check()
			s.Needs(report, "I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I10", "I13", "I14", "I16")
			if n.box != nil {
				s.Needs(report, "I12")
			}
			n.tell(report, began, lasts)
		})
	}
}

// tell prints what was counted, and fails where too little went wrong.
func (n *nemesis) tell(r history.Report, began time.Time, lasts time.Duration) {
	n.Helper()
	var faults int64
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		faults += r.Faults[name]
		fmt.Fprintf(&b, "%s %d, ", name, r.Faults[name])
	}
	n.Logf("%s: %d faults in %s: %s", n.Grade, faults, lasts, strings.TrimSuffix(b.String(), ", "))
	n.Logf("%d jobs, %d accepted, %d unknown, %d deliveries (%d again), %d effects, %d receipts; lost %d, forgotten %d, doubled %d",
		r.Jobs, r.Accepted, r.Unknown, r.Deliveries, r.Redelivered, r.Effects, r.Receipts, r.Lost, r.Forgotten, r.Doubled)
	sum := extent.Sum{Tier: "T5 " + n.Grade, Seed: n.Seed}
	sum.Add(r)
	sum.Write(n, began)
	least := leastShort
	if lasts > short {
		least = leastLong
	}
	if want := int64(least * lasts.Seconds()); faults < want {
		n.Errorf("%d faults fired, want %d", faults, want)
	}
}
