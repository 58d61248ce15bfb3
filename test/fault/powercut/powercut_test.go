package powercut_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/waybillhq/waybill/test/fault/extent"
)

// most is how much of what is wrong with an image is printed.
const most = 10

// TestR6_powerCut (R6, tier T6): whatever a power cut leaves of the append-only file, a server starts on it, no transition
// is applied by half, and what is there can be worked off. With fsync always nothing is lost that anybody was told; with
// everysec nothing that was told before the last write that the disk has.
func TestR6_powerCut(t *testing.T) {
	for _, grade := range []string{"always", "everysec"} {
		t.Run(grade, func(t *testing.T) {
			t.Parallel()
			began, seed := time.Now(), extent.Seed(t)
			e, rnd := amountOf(t), extent.Random(seed)
			p := play(t, grade, e, rnd)
			frames := framesOf(t, p.log)
			cuts := p.cuts(t, frames, e.images, rnd)
			p.tell(t, cuts)
			t.Cleanup(func() {
				extent.Sum{Tier: "T6 " + grade, Seed: seed, Faults: int64(len(cuts)), Jobs: int64(len(p.jobs))}.Write(t, began)
			})
			for n, c := range cuts {
				t.Run(fmt.Sprintf("%d %s", n, c), func(t *testing.T) {
					t.Parallel()
					p.check(t, frames, c)
				})
			}
			if grade == "always" {
				p.bites(t, frames)
				p.remnant(t, frames)
			} else {
				p.lossy(t, rnd)
			}
		})
	}
}

// tell logs what was drawn, and fails where a kind of image is missing, or where everysec would lose more than is stated.
func (p *tape) tell(t *testing.T, cuts []cut) {
	t.Helper()
	count := map[kind]int{}
	window := time.Duration(0)
	for _, c := range cuts {
		count[c.kind]++
		window = max(window, p.takesBack(c.at))
	}
	slowest := p.slowest()
	t.Logf("%d jobs, %d bytes, %d images %v; the slowest sync took %s", len(p.jobs), len(p.log), len(cuts), count, slowest)
	for _, k := range kinds {
		if count[k] == 0 {
			t.Errorf("no image %s", k)
		}
	}
	if p.grade == "always" {
		return
	}
	t.Logf("a cut takes back %s at most", window)
	// The stated window, and the time of a sync that the disk was slow to do: a write waits for it.
	if stated := 2*time.Second + slowest; window > stated {
		t.Errorf("a cut takes back %s: more than %s", window, stated)
	}
}

// check starts a server on what a cut left, and looks at everything.
func (p *tape) check(t *testing.T, frames []frame, c cut) {
	t.Helper()
	m := start(t, p, p.log[:c.size])
	rewrite := false
	switch got, want := m.size(), whole(frames, c.size); {
	case got > want && c.kind == transaction:
		rewrite = true // see remnant
	case got != want:
		m.say("the server took %d bytes of %d: whole transactions end at %d", got, c.size, want)
	}
	m.compare(p.promised(c))
	m.sound()
	if rewrite {
		m.rewrite()
	}
	m.drain()
	m.sound()
	m.restart()
	m.sound()
	m.purge()
	m.report()
}

// report fails the test with what is wrong. With -artifacts it keeps the append-only file and the history: a seed does not
// bring the same run again.
func (m *image) report() {
	m.t.Helper()
	if m.wrong != nil {
		dir := m.t.ArtifactDir()
		must(m.t, os.WriteFile(filepath.Join(dir, "appendonly.aof"), m.log, 0o600))
		must(m.t, os.WriteFile(filepath.Join(dir, "history.jsonl"), m.tape.lines, 0o600))
	}
	for n, w := range m.wrong {
		if n == most {
			m.t.Errorf("and %d more", len(m.wrong)-most)
			return
		}
		m.t.Error(w)
	}
}
