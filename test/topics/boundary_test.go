package topictest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/internal/store"
	topictest "github.com/waybillhq/waybill/test/topics"
)

// TestKilled kills twenty workers of a subscription at each boundary, each with an event of its own in flight.
func TestKilled(t *testing.T) {
	t.Parallel()
	const kills = 20
	for _, die := range []topictest.Boundary{topictest.Entered, topictest.Committed} {
		t.Run(fmt.Sprintf("%s: each effect is there once", die), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, redistest.Start(t), "mail").withEffects(sqltest.SQLite(t))
			s.ended(s.publisher(0, kills, 0))
			deaths := s.dying(s.orders("mail", func(o *topictest.Orders) { o.Die, o.DieFirst, o.Concurrency = die, true, 1 }))
			s.killed(die, deaths, kills)
		})
	}

	t.Run(fmt.Sprintf("%s: each effect is there once", topictest.Unanswered), func(t *testing.T) {
		t.Parallel()
		s := newStand(t, redistest.Start(t), "mail").withEffects(sqltest.SQLite(t))
		s.ended(s.publisher(0, 1, 0))
		warm := s.subscriber("mail") // a server that does not know the scripts carries nothing out
		s.drained("mail")
		must(t, warm.Stop())
		s.ended(s.publisher(1, 1+kills, 0))

		proxy, claim := redistest.NewProxy(t, s.server), claimDigests()
		proxy.LoseWhere(func(request []byte) bool {
			return slices.ContainsFunc(claim, func(d string) bool { return strings.Contains(string(request), d) })
		})
		deaths := s.unanswered(kills, s.orders("mail", func(o *topictest.Orders) {
			o.Redis, o.Die, o.Claim, o.Concurrency = proxy.URL(), topictest.Unanswered, claim, 1
		}))
		s.subscriber("mail")
		s.drained("mail")
		if deaths != proxy.Cuts() {
			t.Errorf("%d workers died of %d replies that were dropped", deaths, proxy.Cuts())
		}
		s.killed(topictest.Unanswered, deaths, 1+kills)
	})
}

// claimDigests are what claims are known by on their way to Redis.
func claimDigests() []string {
	var all []string
	for digest, verb := range store.Digests() {
		if verb == "claim" {
			all = append(all, digest)
		}
	}
	return all
}

// unanswered runs so many processes, four at a time, each until it dies at its first claim, and tells how many died.
func (s *stand) unanswered(processes int, o topictest.Orders) int {
	s.Helper()
	ctx, stop := context.WithTimeout(s.Context(), s.patience)
	defer stop()
	var all sync.WaitGroup
	var died atomic.Int64
	for range 4 {
		all.Go(func() {
			for range processes / 4 {
				if s.lives(o, ctx.Done()) {
					died.Add(1)
				}
			}
		})
	}
	all.Wait()
	return int(died.Load())
}

// dying keeps two processes working the subscription mail off until it is idle, a new one for each that dies, and tells how
// many died.
func (s *stand) dying(o topictest.Orders) int {
	s.Helper()
	done := make(chan struct{})
	var all sync.WaitGroup
	var died atomic.Int64
	for range 2 {
		all.Go(func() {
			for s.lives(o, done) {
				died.Add(1)
			}
		})
	}
	s.drained("mail")
	close(done)
	all.Wait()
	return int(died.Load())
}

// killed checks n events after workers have died at a boundary, each of which held one event.
func (s *stand) killed(die topictest.Boundary, deaths, n int) {
	s.Helper()
	st := s.account("mail", n)
	s.Logf("%s: %d workers died; %d deliveries, %d crashes, %d effects suppressed", die, deaths, st.Deliveries, st.Crashes, st.Suppressed)
	if deaths < 20 || st.Crashes < int64(deaths) {
		s.Errorf("%d workers died, which left %d crashes, want 20", deaths, st.Crashes)
	}
	if die == topictest.Committed && st.Suppressed < int64(deaths) {
		s.Errorf("%d effects were suppressed of %d that were committed and not settled", st.Suppressed, deaths)
	}
}
