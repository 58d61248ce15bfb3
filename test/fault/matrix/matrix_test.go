package matrix_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/test/fault/extent"
	"github.com/waybillhq/waybill/test/fault/stage"
)

// cell is one boundary and one fault.
type cell struct {
	part  part
	point stage.Point
	fault stage.Fault
}

func (c cell) String() string { return fmt.Sprintf("%s: %s, where: %s", c.part.name, c.fault, c.point) }

// part is a role under fault in one stack: its boundaries, and how a round of it is played.
type part struct {
	stack, name string
	points      []stage.Point
	last        string                             // verb of the last call that it makes; "" = it goes on calling
	database    func(testing.TB) *sqltest.Database // nil = none
	round       func(r round)
	needs       []string // promises that are held against it, besides those of all
}

// needed are the promises that something is held against in each cell.
var needed = []string{"I1", "I2", "I4", "I5", "I9", "I10", "I16"}

// round is one fault in a cell. Each has a queue or topic of its own.
type round struct {
	*stage.Stage
	cell

	name string // of the queue or topic
}

// steps are all four of a call.
func steps(verb string) []stage.Point {
	var all []stage.Point
	for _, s := range []stage.Step{stage.Sends, stage.OnTheWay, stage.Answered, stage.Read} {
		all = append(all, s.Of(verb))
	}
	return all
}

// parts are all that is put under fault.
func parts() []part {
	all := append(queueParts(), topicParts()...)
	for _, d := range []struct {
		name string
		give func(testing.TB) *sqltest.Database
	}{{"sqlite", sqltest.SQLite}, {"postgresql", sqltest.Postgres}} {
		all = append(all, receiptPart(d.name, d.give), outboxPart(d.name, d.give))
	}
	return all
}

func cells() []cell {
	var all []cell
	for _, p := range parts() {
		for _, at := range p.points {
			for _, f := range stage.Faults() {
				if c := (cell{p, at, f}); c.possible() {
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// possible tells whether the fault can come about: behind its last call a process has none that could be lost.
func (c cell) possible() bool {
	if c.part.last == "" || c.fault != stage.RequestLost && c.fault != stage.ReplyLost && c.fault != stage.Late {
		return true
	}
	return c.point != stage.Read.Of(c.part.last) && (c.point != stage.Answered.Of(c.part.last) || c.fault != stage.RequestLost)
}

// Rounds of a cell in a full run, and the share of cells that a short one plays, another share each time.
const (
	fullRounds = 1
	share      = 16
)

// leastFaults is how many faults a full run must have seen fire.
const leastFaults = 600

// TestMatrix plays the matrix. In every cell nothing is lost, nothing is done twice, and every promise of the history holds.
func TestMatrix(t *testing.T) {
	seed, size, began := extent.Seed(t), extent.Of(t), time.Now()
	all, rounds := cells(), fullRounds
	if !size.Full {
		rnd := extent.Random(seed)
		rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all, rounds = all[:len(all)/share], 1
	}
	var seen tally
	deadline := began.Add(size.Soak)
	for again := 0; again == 0 || time.Now().Before(deadline); again++ {
		t.Run(fmt.Sprint("cells ", again), func(t *testing.T) {
			for i, c := range all {
				t.Run(c.String(), func(t *testing.T) {
					t.Parallel()
					seen.add(c, c.play(t, rounds, seed+uint64(i)))
				})
			}
		})
	}
	t.Logf("%d cells\n%s", len(all), seen.String())
	fired := seen.write(t, seed, began)
	if size.Full && seen.cells >= len(all) && fired < leastFaults { // fewer cells are played where -run names some
		t.Errorf("%d faults fired, want %d", fired, leastFaults)
	}
}

// play plays a cell and gives what its history shows.
func (c cell) play(t *testing.T, rounds int, seed uint64) history.Report {
	o := stage.Options{Actor: actor, Seed: seed}
	if c.part.database != nil {
		o.Database = c.part.database(t)
	}
	s := stage.New(t, o)
	for n := range rounds {
		c.part.round(round{s, c, fmt.Sprint("q", n)})
	}
	report := s.Check()
	s.Needs(report, append(c.part.needs, needed...)...)
	if c.part.database != nil {
		s.Needs(report, "I6")
	}
	if fired := report.Faults[string(c.fault)]; fired != int64(rounds) {
		t.Errorf("of %d faults %d fired with work in flight", rounds, fired)
	}
	return report
}

// tally is what was counted in all of them, by stack. It is safe for concurrent use.
type tally struct {
	mu     sync.Mutex
	cells  int
	sums   map[string]*extent.Sum
	faults map[string]map[stage.Fault]int64
}

func (t *tally) add(c cell, r history.Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sums == nil {
		t.sums, t.faults = map[string]*extent.Sum{}, map[string]map[stage.Fault]int64{}
	}
	if t.sums[c.part.stack] == nil {
		t.sums[c.part.stack], t.faults[c.part.stack] = &extent.Sum{}, map[stage.Fault]int64{}
	}
	t.cells++
	t.sums[c.part.stack].Add(r)
	t.faults[c.part.stack][c.fault] += r.Faults[string(c.fault)]
}

// write tells the sum of each stack, and gives how many faults fired.
func (t *tally) write(tb testing.TB, seed uint64, began time.Time) (fired int64) {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(t.sums)) {
		s := *t.sums[name]
		s.Tier, s.Seed = "T2 "+name, seed
		s.Write(tb, began)
		fired += s.Faults
	}
	return fired
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "stack")
	for _, f := range stage.Faults() {
		fmt.Fprintf(w, "\t%s", f)
	}
	fmt.Fprintln(w, "\tjobs\tdeliveries\teffects\tlost\tdoubled")
	for _, name := range slices.Sorted(maps.Keys(t.sums)) {
		fmt.Fprint(w, name)
		for _, f := range stage.Faults() {
			fmt.Fprintf(w, "\t%d", t.faults[name][f])
		}
		s := t.sums[name]
		fmt.Fprintf(w, "\t%d\t%d\t%d\t%d\t%d\n", s.Jobs, s.Deliveries, s.Effects, s.Lost, s.Doubled)
	}
	_ = w.Flush()
	return b.String()
}
