package outbox_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

func TestReplay_lostAgain(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s, _ := newStandAlone(t, d)
		s.enter(requests(20)...)
		s.relay()
		until(t, "all are sent", func() bool { return s.rows().Sent == 20 })
		wipe := func() {
			if err := s.rdb.FlushAll(t.Context()).Err(); err != nil {
				t.Error(err)
			}
		}
		wipe()
		until(t, "the loss is noticed", func() bool { return !s.rows().LostAt.IsZero() })
		var once sync.Once
		ctx := boundary.With(t.Context(), func(name string) {
			if name == "replay sent" {
				once.Do(wipe)
			}
		})
		all, err := s.box.Replay(ctx, s.c, outbox.ReplayOptions{})
		if !errors.Is(err, outbox.ErrLost) || len(all) != 1 || all[0].Done || s.rows().LostAt.IsZero() {
			t.Errorf("lost again while it was replayed: %+v, %v, lost at %s", all, err, s.rows().LostAt)
		}
		if said := s.replay(outbox.ReplayOptions{}); !said.Done || said.Sent != 20 || s.stats().Ready != 20 {
			t.Errorf("%+v, ready %d", said, s.stats().Ready)
		}
	})
}

// Two replays at once: the second one ends when Redis has lost data after the first one was over.
func TestReplay_overtaken(t *testing.T) {
	t.Parallel()
	s, _ := newStandAlone(t, sqltest.SQLite(t))
	s.enter(requests(5)...)
	s.relay()
	until(t, "all are sent", func() bool { return s.rows().Sent == 5 })
	var once sync.Once
	ctx := boundary.With(t.Context(), func(name string) {
		if name != "replay sent" {
			return
		}
		once.Do(func() {
			s.replay(outbox.ReplayOptions{Queues: []string{"q"}})
			until(t, "the relay has entered again", func() bool { return s.rows().LostAt.IsZero() })
			if err := s.rdb.FlushAll(t.Context()).Err(); err != nil {
				t.Error(err)
			}
			until(t, "the loss is noticed", func() bool { return !s.rows().LostAt.IsZero() })
		})
	})
	if all, err := s.box.Replay(ctx, s.c, outbox.ReplayOptions{Queues: []string{"q"}}); !errors.Is(err, outbox.ErrLost) || all[0].Done {
		t.Errorf("%+v, %v", all, err)
	}
	if s.rows().LostAt.IsZero() {
		t.Error("the loss is forgotten")
	}
}

func TestReplay_othersJobs(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		s.enter(requests(3)...)
		stop := s.relay()
		until(t, "all are sent", func() bool { return s.rows().Sent == 3 })
		for i := range 3 {
			if err := s.c.Queue("q").Delete(t.Context(), fmt.Sprint("job-", i), waybill.DeleteOptions{Forget: true}); err != nil {
				t.Fatal(err)
			}
		}
		until(t, "all have ended", func() bool { r := s.rows(); return r.Ended == 3 && r.Unread == 0 })
		stop()
		if _, err := s.c.Enqueue(t.Context(), request("job-1")); err != nil {
			t.Fatal(err)
		}
		for _, dry := range []bool{true, false} {
			if said := s.replay(outbox.ReplayOptions{Queues: []string{"q"}, DryRun: dry}); said.Buried+said.Cancelled != 0 {
				t.Errorf("what another producer enqueued under an old ID was buried: %+v", said)
			}
		}
		if got := s.state("job-1"); got != waybill.StateReady {
			t.Errorf("job-1 is %q", got)
		}
	})
}

// Redis is wiped between the entering of a queue and the first call that sends.
func TestReplay_lostAtOnce(t *testing.T) {
	t.Parallel()
	s, _ := newStandAlone(t, sqltest.SQLite(t))
	s.enter(requests(5)...)
	s.relay()
	until(t, "all are sent", func() bool { return s.rows().Sent == 5 })
	wipe := func() {
		if err := s.rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Error(err)
		}
	}
	wipe()
	until(t, "the loss is noticed", func() bool { return !s.rows().LostAt.IsZero() })
	ctx := boundary.With(t.Context(), func(name string) {
		if name == "replay read" {
			wipe()
		}
	})
	if all, err := s.box.Replay(ctx, s.c, outbox.ReplayOptions{}); !errors.Is(err, outbox.ErrLost) || all[0].Done || s.rows().LostAt.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
}

// Nothing is lost, and a relay reads the last word on a job just after the replay has read its row.
func TestReplay_overtakenByWord(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		s.enter(requests(2)...)
		stop := s.relay()
		until(t, "both are sent", func() bool { return s.rows().Sent == 2 })
		stop()
		if err := s.c.Queue("q").Delete(t.Context(), "job-0", waybill.DeleteOptions{Forget: true}); err != nil {
			t.Fatal(err)
		}
		ctx := boundary.With(t.Context(), func(name string) {
			if name == "replay read" {
				s.relay()
				until(t, "its row has ended", func() bool { r := s.rows(); return r.Ended == 1 && r.Unread == 0 })
			}
		})
		if _, err := s.box.Replay(ctx, s.c, outbox.ReplayOptions{Queues: []string{"q"}}); err != nil {
			t.Fatal(err)
		}
		if st := s.stats(); st.Ready != 1 || s.state("job-0") == waybill.StateReady {
			t.Errorf("ready %d, job-0 is %q: a deleted job returned", st.Ready, s.state("job-0"))
		}
	})
}
