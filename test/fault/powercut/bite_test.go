package powercut_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// bites shows that the checks find what they are to find: loss, and transitions that are applied by half.
func (p *tape) bites(t *testing.T, frames []frame) {
	t.Run("an image older than what the disk had is found to have lost", func(t *testing.T) {
		t.Parallel()
		m := start(t, p, p.log[:whole(frames, p.durable(p.ended)/2)])
		m.compare(p.ended)
		for _, word := range []string{"lost", "forgotten"} {
			if !slices.ContainsFunc(m.wrong, func(w string) bool { return strings.HasPrefix(w, word) }) {
				t.Errorf("half of the file, and nothing is %s: %v", word, m.wrong)
			}
		}
	})
	for _, missing := range [][2]string{
		{"RPUSH", "ready"}, {"ZADD", "leases"}, {"ZREM", "leases"}, {"ZADD", "retry"}, {"HINCRBY", "stats"},
	} {
		t.Run(fmt.Sprintf("a transaction without its %s of %s is found", missing[0], missing[1]), func(t *testing.T) {
			t.Parallel()
			log, size := p.without(t, frames, missing[0], missing[1])
			m := start(t, p, log)
			m.compare(p.holds(size))
			m.sound()
			if m.wrong == nil {
				t.Error("nothing is found")
			}
		})
	}
}

// lossy shows that what everysec loses would be found where nothing may be lost.
func (p *tape) lossy(t *testing.T, rnd *rand.Rand) {
	worst, window := cut{kind: synced, at: p.begun}, time.Duration(0)
	for range 200 {
		at := p.begun + rnd.Int64N(p.ended-p.begun)
		if back := p.takesBack(at); back > window {
			window, worst.at, worst.size = back, at, p.durable(at)
		}
	}
	t.Run("what everysec loses is found by the measure of always", func(t *testing.T) {
		t.Parallel()
		m := start(t, p, p.log[:worst.size])
		m.compare(worst.at)
		if m.wrong == nil {
			t.Errorf("a cut takes back %s, and nothing is found", window)
		}
	})
}

// without gives the file up to the end of the last transaction that has a command on a key, without that command; and how
// long it was with it.
func (p *tape) without(t *testing.T, frames []frame, command, key string) (log []byte, size int64) {
	t.Helper()
	for i, f := range slices.Backward(frames) {
		if !f.within || f.args[0] != command || !strings.Contains(f.args[1], "}:"+key) {
			continue
		}
		end := i
		for frames[end].within {
			end++
		}
		size = frames[end].to
		return slices.Concat(p.log[:f.from], p.log[f.to:size]), size
	}
	t.Fatalf("no transaction has a %s of %s", command, key)
	return nil, 0
}

// torn gives the file up to the middle of the command that follows the last MSET of new jobs in one transaction.
func (p *tape) torn(t *testing.T, frames []frame) (log []byte, want int64) {
	t.Helper()
	for i, f := range slices.Backward(frames) {
		if f.within && f.args[0] == "MSET" {
			size := frames[i+1].to - 3
			return p.log[:size], whole(frames, size)
		}
	}
	t.Fatal("no transaction adds jobs")
	return nil, 0
}

// remnant shows a fault of servers (found here with Redis 7.0.15; mended in Valkey by its pull request 4342): where the file
// ends within a command of a transaction, the server that starts on it cuts off that command alone. The rest of the
// transaction stays in the file without its EXEC, so the next start but one takes it for the beginning of the next
// transaction, and carries it out. A rewrite of the file before anything is written takes it away; so does redis-check-aof
// --fix before the first start.
func (p *tape) remnant(t *testing.T, frames []frame) {
	again := func(t *testing.T, rewrite bool) []string {
		t.Helper()
		log, want := p.torn(t, frames)
		m := start(t, p, log)
		if m.size() == want {
			t.Skip("this server takes the whole transaction away")
		}
		if rewrite {
			m.rewrite()
		}
		m.drain()
		m.sound()
		m.report()
		m.restart()
		m.sound()
		return m.wrong
	}
	t.Run("half of a torn transaction comes back with the second start", func(t *testing.T) {
		t.Parallel()
		if wrong := again(t, false); wrong == nil {
			t.Error("nothing is found: does this server need no rewrite?")
		}
	})
	t.Run("a rewrite after the first start takes it away", func(t *testing.T) {
		t.Parallel()
		for _, w := range again(t, true) {
			t.Error(w)
		}
	})
}
