package matrix_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/waybillhq/waybill/internal/sqltest"
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
	database    func(testing.TB) *sqltest.Database // nil = none
	round       func(r round)
}

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
				all = append(all, cell{p, at, f})
			}
		}
	}
	return all
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
	seed, size := stage.Seed(t), stage.SizeOf(t)
	all, rounds := cells(), fullRounds
	if !size.Full {
		rnd := stage.Random(seed)
		rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all, rounds = all[:len(all)/share], 1
	}
	var seen tally
	deadline := time.Now().Add(size.Soak)
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
	if size.Full && seen.fired() < leastFaults && !t.Failed() {
		t.Errorf("%d faults fired, want %d", seen.fired(), leastFaults)
	}
}

// play plays a cell and gives how many faults fired.
func (c cell) play(t *testing.T, rounds int, seed uint64) score {
	o := stage.Options{Actor: actor, Seed: seed}
	if c.part.database != nil {
		o.Database = c.part.database(t)
	}
	s := stage.New(t, o)
	for n := range rounds {
		c.part.round(round{s, c, fmt.Sprint("q", n)})
	}
	report := s.Check()
	fired := int(report.Faults[string(c.fault)])
	if fired != rounds {
		t.Errorf("of %d faults %d fired with work in flight", rounds, fired)
	}
	return score{fired, report.Jobs, report.Deliveries, report.Effects, report.Lost, report.Doubled}
}

// score is what was counted in a cell.
type score struct {
	faults                                   int
	jobs, deliveries, effects, lost, doubled int64
}

// tally is what was counted in all of them, by stack. It is safe for concurrent use.
type tally struct {
	mu     sync.Mutex
	scores map[string]score
	faults map[string]map[stage.Fault]int
}

func (t *tally) add(c cell, s score) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.scores == nil {
		t.scores, t.faults = map[string]score{}, map[string]map[stage.Fault]int{}
	}
	sum := t.scores[c.part.stack]
	t.scores[c.part.stack] = score{
		sum.faults + s.faults, sum.jobs + s.jobs, sum.deliveries + s.deliveries, sum.effects + s.effects, sum.lost + s.lost, sum.doubled + s.doubled,
	}
	if t.faults[c.part.stack] == nil {
		t.faults[c.part.stack] = map[stage.Fault]int{}
	}
	t.faults[c.part.stack][c.fault] += s.faults
}

func (t *tally) fired() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.scores {
		n += s.faults
	}
	return n
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
	fmt.Fprintln(w, "\tfaults\tjobs\tdeliveries\teffects\tlost\tdoubled")
	var stacks []string
	for name := range t.scores {
		stacks = append(stacks, name)
	}
	slices.Sort(stacks)
	for _, name := range stacks {
		fmt.Fprint(w, name)
		for _, f := range stage.Faults() {
			fmt.Fprintf(w, "\t%d", t.faults[name][f])
		}
		s := t.scores[name]
		fmt.Fprintf(w, "\t%d\t%d\t%d\t%d\t%d\t%d\n", s.faults, s.jobs, s.deliveries, s.effects, s.lost, s.doubled)
	}
	_ = w.Flush()
	return b.String()
}
