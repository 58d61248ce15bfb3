package linear_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9/logging"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/test/fault/extent"
)

func TestMain(m *testing.M) {
	logging.Disable() // connections are cut here
	redistest.Main(m)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lease is short, so that many run out. A round's clients play for length; deciding one job may take patience.
const (
	lease    = 100 * time.Millisecond
	length   = 2 * time.Second
	patience = 20 * time.Second
	workers  = 3
	clients  = workers + 2
)

// round is a queue that clients play with.
type round struct {
	seed  uint64
	queue string
	tape  *tape
	line  *line
}

func jobName(n int) string { return fmt.Sprintf("job%d", n) }

// totals are what all rounds come to.
type totals struct {
	rounds, jobs, operations, longest, unanswered, lost int
	faults                                              map[redistest.Fate]int
}

func TestLinear(t *testing.T) {
	t.Parallel()
	began, seed := time.Now(), extent.Seed(t)
	long := extent.Of(t).Pick(10*time.Second, time.Minute)
	s := redistest.Start(t)
	all := totals{faults: map[redistest.Fate]int{}}
	for end := time.Now().Add(long); time.Now().Before(end) && !t.Failed(); all.rounds++ {
		t.Run(fmt.Sprintf("round %d", all.rounds), func(t *testing.T) {
			r := &round{seed: seed + uint64(all.rounds), queue: fmt.Sprintf("q%d", all.rounds), tape: &tape{start: time.Now()}}
			r.play(t, s, &all)
			r.check(t, &all)
		})
	}
	t.Logf("%+v", all)
	extent.Sum{Tier: "T4", Seed: seed, Faults: int64(sum(all.faults)), Jobs: int64(all.jobs)}.Write(t, began)
	// A busy machine fires some twenty a round, and lets four leases run out.
	for _, f := range []redistest.Fate{redistest.DropReply, redistest.DropRequest, redistest.Late, redistest.Again} {
		if 3*all.faults[f] < all.rounds {
			t.Errorf("%v fired %d times in %d rounds: once in three is wanted", f, all.faults[f], all.rounds)
		}
	}
	if sum(all.faults) < 5*all.rounds || all.lost < all.rounds {
		t.Errorf("%d faults and %d leases that ran out in %d rounds: 5 and 1 a round are wanted", sum(all.faults), all.lost, all.rounds)
	}
}

func sum(of map[redistest.Fate]int) (n int) {
	for _, k := range of {
		n += k
	}
	return n
}

// play lets clients loose, and what was kept be delivered meanwhile.
func (r *round) play(t *testing.T, s *redistest.Server, all *totals) {
	r.line = &line{tape: r.tape}
	for range 4 {
		r.line.made++
		r.line.ids = append(r.line.ids, jobName(r.line.made))
	}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var over sync.WaitGroup
	var players []*client
	for n := range clients {
		c := newClient(t, s, n, r)
		players = append(players, c)
		over.Go(func() {
			if n < workers {
				c.work(ctx)
			} else {
				c.operate(ctx)
			}
		})
	}
	over.Go(func() { deliverAll(ctx, players) })
	over.Wait()
	for _, c := range players {
		for f, n := range c.proxy.Faults() {
			all.faults[f] += n
		}
	}
}

func deliverAll(ctx context.Context, players []*client) {
	tick := time.NewTicker(lease / 2)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			players[n%len(players)].deliver(ctx)
		}
	}
}

// check decides on each job of the round.
func (r *round) check(t *testing.T, all *totals) {
	taken := r.tape.stop() // what a client gave up may still be on its way
	for _, id := range taken.jobs() {
		operations := taken.operations(id)
		all.jobs++
		all.operations += len(operations)
		all.longest = max(all.longest, len(operations))
		for _, o := range operations {
			if !o.Output.(reply).given {
				all.unanswered++
			}
		}
		all.lost += lapses(operations)
		result, info := porcupine.CheckOperationsVerbose(model, operations, patience)
		if result != porcupine.Ok {
			t.Errorf("%s is not linearizable (%s): seed %d; see %s\n%s", id, result, r.seed, draw(t, info), history(operations))
		}
	}
}

// lapses is how often the job's lease ran out, as far as a claim told.
func lapses(operations []porcupine.Operation) (n int) {
	for _, o := range operations {
		n = max(n, o.Output.(reply).crashes)
	}
	return n
}

// draw writes a page that shows what was tried, and gives its name. It stays.
func draw(t *testing.T, info porcupine.LinearizationInfo) string {
	f, err := os.CreateTemp("", "linear-*.html") //nolint:usetesting // it is to outlive the test
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if err := porcupine.Visualize(model, info, f); err != nil {
		t.Logf("no page: %v", err)
	}
	return filepath.Clean(f.Name())
}

// history is what happened to a job, in the order of sending.
func history(operations []porcupine.Operation) string {
	slices.SortFunc(operations, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var b strings.Builder
	for _, o := range operations {
		fmt.Fprintf(&b, "client %3d %9.3f to %9.3f ms: %s\n", o.ClientId, float64(o.Call)/1e6, float64(o.Return)/1e6,
			describe(o.Input.(call), o.Output.(reply)))
	}
	return b.String()
}
