package outboxtest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

// TestNoticed brings an older copy of Redis back before a relay that sends, in its first call since, more jobs than were
// lost: what the queue counts then is higher than ever, and the loss is noticed all the same.
func TestNoticed(t *testing.T) {
	t.Parallel()
	s := newStand(t, sqltest.SQLite(t))
	file := filepath.Join(s.server.Dir(), "dump.rdb")
	sent := func(n int) {
		t.Helper()
		s.until("rows are sent", func() bool { return s.count("SELECT count(*) FROM waybill_outbox WHERE state = 1") == n })
	}
	// It reads words when it begins, and not again.
	box, err := outbox.New(s.db, s.d.Dialect, outbox.Options{Poll: poll, Read: time.Minute})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var relay sync.WaitGroup
	relay.Go(func() { must(t, box.Relay(ctx, s.client)) })
	s.enter(names("before", 10)...)
	sent(10)
	rdb := s.server.Client()
	must(t, rdb.Save(t.Context()).Err())
	copied, err := os.ReadFile(file)
	must(t, err)
	s.enter(names("lost", 10)...)
	sent(20)
	s.server.Kill()
	must(t, os.WriteFile(file, copied, 0o600))
	s.enter(names("after", 30)...)
	s.server.Restart()
	lost := func() bool {
		stats, err := box.Stats(t.Context())
		must(t, err)
		return errors.Is(stats.Lost(), outbox.ErrLost)
	}
	s.until("rows are sent, or the loss is noticed", func() bool {
		return lost() || s.count("SELECT count(*) FROM waybill_outbox WHERE state = 1") == 50
	})
	stop()
	relay.Wait()
	if !lost() {
		t.Fatalf("10 of 20 jobs were lost, and the relay did not notice: %+v", s.stats())
	}
	_, err = s.box.Replay(t.Context(), s.client, outbox.ReplayOptions{})
	must(t, err)
	defer s.relay(s.box)()
	s.until("all jobs are there", func() bool { return s.stats().Ready == 50 })
	if n := s.stats().In(waybill.StateReady); n != 50 {
		t.Errorf("%d jobs are ready, want 50", n)
	}
}
