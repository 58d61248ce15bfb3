package redistest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/redistest"
)

func TestClock(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Preload())
	c := s.Client()
	ahead := func() time.Duration {
		now, err := c.Time(t.Context()).Result()
		must(t, err)
		return time.Until(now).Round(time.Second)
	}
	for _, d := range []time.Duration{0, time.Hour, -time.Hour, 0} {
		s.Clock().Shift(d)
		if got := ahead(); got != d {
			t.Errorf("shifted by %s, the server is ahead by %s", d, got)
		}
	}
	s.Clock().Shift(time.Minute)
	s.Restart()
	if got := ahead(); got != time.Minute {
		t.Errorf("after a restart the server is ahead by %s", got)
	}
	must(t, c.Set(t.Context(), "k", "v", 50*time.Second).Err())
	s.Clock().Shift(2 * time.Minute)
	if n := c.Exists(t.Context(), "k").Val(); n != 0 {
		t.Error("a key lives on beyond its time")
	}
}

func TestDisk(t *testing.T) {
	t.Parallel()
	t.Run("calls are noted in order, with sizes and times", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, redistest.Preload(), redistest.AOF(), redistest.Config("appendfsync", "always"))
		c := s.Client()
		for range 5 {
			must(t, c.Incr(t.Context(), "n").Err())
		}
		calls := s.Disk().Calls()
		size, writes, syncs := int64(0), 0, 0
		for _, call := range calls {
			if call.Size < size || call.Begun > call.Done || call.Begun == 0 {
				t.Errorf("after %d bytes: %+v", size, call)
			}
			size = call.Size
			switch call.Kind {
			case redistest.CallWrite:
				writes++
			case redistest.CallSync:
				syncs++
			}
		}
		if writes < 5 || syncs < 5 || calls[len(calls)-1].Kind != redistest.CallSync {
			t.Errorf("5 commands with fsync always: %d writes, %d syncs", writes, syncs)
		}
	})
	t.Run("a full disk ends a server that syncs always", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, redistest.Preload(), redistest.AOF(), redistest.Config("appendfsync", "always"))
		c := s.Client()
		must(t, c.Set(t.Context(), "k", "told", 0).Err())
		s.Disk().Fill(10)
		if err := c.Set(t.Context(), "k", "not told", 0).Err(); err == nil {
			t.Error("a write to a full disk was told to be done")
		}
		<-s.Done()
		s.Disk().Free()
		s.Restart()
		if got := c.Get(t.Context(), "k").Val(); got != "told" {
			t.Errorf("the value is %q", got)
		}
	})
	t.Run("a full disk makes a server that syncs every second refuse writes", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, redistest.Preload(), redistest.AOF())
		c := s.Client()
		s.Disk().Fill(0)
		refused := func() bool {
			err := c.Incr(t.Context(), "n").Err()
			return err != nil && strings.HasPrefix(err.Error(), "MISCONF")
		}
		until(t, "writes are refused", refused)
		s.Disk().Free()
		until(t, "writes are taken again", func() bool { return c.Incr(t.Context(), "n").Err() == nil })
	})
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); !is(); <-tick.C {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("it does not come about: %s", what)
		}
	}
}

func TestPreload_noCompiler(t *testing.T) {
	server := redistest.Binary(t)
	run := func(t *testing.T, ci string) *recorder {
		path := t.TempDir()
		must(t, os.Symlink(server, filepath.Join(path, "redis-server")))
		t.Setenv("PATH", path)
		t.Setenv("CI", ci)
		r := &recorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			redistest.Start(r, redistest.Preload())
		}()
		<-done
		return r
	}
	t.Run("skips loudly", func(t *testing.T) {
		if r := run(t, ""); !strings.Contains(r.skipped, "NO C COMPILER") || r.failed != "" {
			t.Errorf("skipped %q, failed %q", r.skipped, r.failed)
		}
	})
	t.Run("fails in CI", func(t *testing.T) {
		if r := run(t, "true"); !strings.Contains(r.failed, "NO C COMPILER") || r.skipped != "" {
			t.Errorf("skipped %q, failed %q", r.skipped, r.failed)
		}
	})
}
