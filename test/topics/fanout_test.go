package topictest_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/topic"
)

// manyEvents is how many events TestFanOut publishes: 10,000, or as WAYBILL_TOPIC_EVENTS says. Fifty thousand take some five
// minutes on two busy cores: WAYBILL_TOPIC_EVENTS=50000 go test -race -timeout 30m -run TestFanOut ./test/topics.
func manyEvents(t *testing.T) int {
	t.Helper()
	text := os.Getenv("WAYBILL_TOPIC_EVENTS")
	if text == "" {
		return 10_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		t.Fatalf("WAYBILL_TOPIC_EVENTS is %q: a number from 1000", text)
	}
	return n
}

// TestFanOut publishes events to three subscriptions: one whose workers are killed in mid-message, one that is well, and one
// that has no worker until the others have done everything.
func TestFanOut(t *testing.T) {
	t.Parallel()
	const kills = 10
	n := manyEvents(t)
	s := newStand(t, redistest.Start(t), "killed", "healthy", "stopped").withEffects(sqltest.Postgres(t))
	s.patience = max(mostTime, time.Duration(n)*12*time.Millisecond)
	begun := time.Now()
	s.subscriber("healthy")
	killers := s.slaughter("killed", kills)
	s.publishTwice(n)
	killers.relent()
	t.Logf("%d events were published after %s", n, time.Since(begun).Round(time.Millisecond))

	for _, name := range []string{"healthy", "killed"} {
		s.until(name+" has done everything", func() bool { return idle(s.held(n), name) })
		t.Logf("%s had done everything after %s", name, time.Since(begun).Round(time.Millisecond))
	}
	deaths := killers.stop()
	if deaths < kills {
		t.Errorf("%d workers died in mid-message, want at least %d", deaths, kills)
	}
	t.Logf("entries, memory: %s", s.memory())
	s.numbered(n)
	s.account("healthy", n)
	killed := s.account("killed", n)
	t.Logf("killed: %d workers, %d deliveries, %d crashes, %d effects suppressed", deaths, killed.Deliveries, killed.Crashes, killed.Suppressed)
	if killed.Crashes < int64(deaths) {
		t.Errorf("%d crashes of %d workers in mid-message", killed.Crashes, deaths)
	}

	s.subscriber("stopped")
	s.drained("stopped")
	s.account("stopped", n)
	s.until("the stream is cut", func() bool { return s.stats().Entries < 2000 })
	t.Logf("the stopped one had done everything after %s; entries, memory: %s", time.Since(begun).Round(time.Millisecond), s.memory())
}

// held checks that the stream holds all that the stopped subscription has not taken, which is everything.
func (s *stand) held(n int) topic.Stats {
	s.Helper()
	st := s.stats()
	if x := of(st, "stopped"); x.Lag != int64(n) || x.Lag != st.Entries || x.Taken != 0 || st.Cut != 0 {
		s.Fatalf("the stream holds %d entries of %d, %d were cut; the stopped subscription lags by %d", st.Entries, n, st.Cut, x.Lag)
	}
	return st
}

// memory is how many entries the stream has and how many bytes it and the whole server use, for people.
func (s *stand) memory() string {
	s.Helper()
	entries, err := s.rdb.XLen(s.Context(), streamKey).Result()
	must(s.T, err)
	bytes, err := s.rdb.MemoryUsage(s.Context(), streamKey, 0).Result()
	if err != nil {
		bytes = 0 // there is no stream
	}
	info, err := s.rdb.Info(s.Context(), "memory").Result()
	must(s.T, err)
	_, used, _ := strings.Cut(info, "used_memory:")
	used, _, _ = strings.Cut(used, "\r\n")
	return strconv.FormatInt(entries, 10) + " of " + strconv.FormatInt(bytes, 10) + " bytes, used_memory " + used
}

// publishTwice publishes n events by two processes for some twelve seconds. One of them is killed half-way and starts again
// from its beginning.
func (s *stand) publishTwice(n int) {
	s.Helper()
	const every = 120 * time.Millisecond // a hundred times
	a, b := s.publisher(0, n/2, every), s.publisher(n/2, n, every)
	s.until("half of the second publisher's events are told", func() bool { return told(b).To >= n/2+n/4 })
	b.Kill()
	before := told(b)
	again := s.publisher(n/2, n, every/2)
	sum := s.ended(a, again)
	if !b.Killed() || sum.Duplicates < before.Accepted || sum.Accepted+sum.Duplicates != n {
		s.Errorf("a publisher that was killed had %d events accepted; later %d were accepted, %d duplicates", before.Accepted, sum.Accepted, sum.Duplicates)
	}
	if got := s.stats().Published; got != int64(n) {
		s.Errorf("%d events were published, want %d", got, n)
	}
}
