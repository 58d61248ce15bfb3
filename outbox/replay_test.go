package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

func TestRelay_deadRelaysMark(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s, server := newStandAlone(t, d)
		s.enter(request("a"))
		first := s.relay()
		until(t, "the first is sent", func() bool { return s.rows().Sent == 1 })
		first()
		restore := s.keep(server)
		s.enter(request("b"))
		dead := errors.New("dead")
		s.dying(boundary.With(t.Context(), func(name string) {
			if name == "answer read" {
				panic(dead)
			}
		}), dead)
		// The next one hears of the second job before it sends it again.
		outbox.HearThenCarry(t.Context(), s.box, s.c)
		if n := s.rows().Sent; n != 2 {
			t.Fatalf("%d rows are sent", n)
		}
		restore()
		s.relay()
		until(t, "a loss of what it had sent is noticed", func() bool { return !s.rows().LostAt.IsZero() })
	})
}

func TestRelay_endlessWords(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s, _ := newStandAlone(t, d)
		s.enter(requests(3)...)
		stop := s.relay()
		until(t, "all are sent", func() bool { return s.rows().Sent == 3 })
		stop()
		tell := func(n int) {
			keys, err := s.rdb.Keys(t.Context(), "*{q}*meta").Result()
			if err != nil || len(keys) != 1 {
				t.Error(keys, err)
				return
			}
			key := keys[0][:len(keys[0])-len("meta")] + "told:0"
			if err := s.rdb.HSet(t.Context(), key, "job-1", fmt.Sprintf("live %d %d", n, time.Now().UnixMilli())).Err(); err != nil {
				t.Error(err)
			}
		}
		n := 0
		tell(n)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.relayIn(boundary.With(ctx, func(name string) {
			if name == "words committed" && ctx.Err() == nil {
				n++
				tell(n)
			}
		}))
		until(t, "a pass ends, though there is always another word", func() bool { return s.told(outbox.EventEnded) > 2 })
	})
}

func TestReplay_meanwhile(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s, _ := newStandAlone(t, d)
		const n = 150
		s.enter(requests(n)...)
		s.relay()
		s.relay()
		until(t, "all are sent", func() bool { return s.rows().Sent == n })
		if err := s.rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		room := int64(40)
		if err := s.c.Queue("q").Set(t.Context(), waybill.QueueSettings{Capacity: &room}); err != nil {
			t.Fatal(err)
		}
		until(t, "the loss is noticed", func() bool { return !s.rows().LostAt.IsZero() })
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				if _, err := s.box.Replay(t.Context(), s.c, outbox.ReplayOptions{Queues: []string{"q"}}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if st := s.stats(); st.Ready != 40 || st.Spilled != n-40 || st.PausedBy != "" || st.Accepted != n {
			t.Errorf("ready %d, spilled %d, accepted %d, paused by %q", st.Ready, st.Spilled, st.Accepted, st.PausedBy)
		}
		s.work(func(_ context.Context, a *waybill.Attempt) error {
			if a.ID == "job-3" {
				return errNo
			}
			return nil
		})
		// Nothing is lost, jobs run and end, and somebody replays all the while.
		for s.rows().Ended < n-1 {
			said, err := s.box.Replay(t.Context(), s.c, outbox.ReplayOptions{Queues: []string{"q"}})
			if err != nil || said[0].Buried+said[0].Cancelled+said[0].Sent+said[0].Dead+said[0].SetAside != 0 {
				t.Fatalf("%+v, %v", said, err)
			}
		}
		until(t, "all are known", func() bool { r := s.rows(); return r.Dead == 1 && r.Ended == n-1 && r.LostAt.IsZero() })
		if st := s.stats(); st.Deliveries != n || s.told(outbox.EventLost) != 1 {
			t.Errorf("%d deliveries, told of %d losses", st.Deliveries, s.told(outbox.EventLost))
		}
	})
}

func TestReplay_brokenOff(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s, _ := newStandAlone(t, d)
		const n = 1100 // two pages
		s.enter(requests(n)...)
		s.relay()
		until(t, "all are sent", func() bool { return s.rows().Sent == n })
		if err := s.rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		until(t, "the loss is noticed", func() bool { return !s.rows().LostAt.IsZero() })
		broken := 0
		for at := 1; ; at++ { // at the first step, at the second
			ctx, cancel := context.WithCancel(t.Context())
			steps := 0
			_, err := s.box.Replay(ctx, s.c, outbox.ReplayOptions{Told: func(outbox.Replayed) {
				if steps++; steps == at {
					cancel()
				}
			}})
			cancel()
			if err == nil {
				break
			}
			broken++
			if s.stats().PausedBy == "" || s.rows().LostAt.IsZero() {
				t.Errorf("broken off at step %d: paused by %q, lost at %s", at, s.stats().PausedBy, s.rows().LostAt)
			}
		}
		if st := s.stats(); broken < 2 || st.Ready != n || st.Accepted != n || st.PausedBy != "" || !s.rows().LostAt.IsZero() {
			t.Errorf("broken off %d times: ready %d, accepted %d, paused by %q", broken, st.Ready, st.Accepted, st.PausedBy)
		}
	})
}

func TestReplay_refused(t *testing.T) {
	t.Parallel()
	s := newStand(t, sqltest.SQLite(t), outbox.Options{})
	if _, err := s.box.Replay(t.Context(), nil, outbox.ReplayOptions{}); !errors.Is(err, outbox.ErrInvalid) {
		t.Errorf("without a client: %v", err)
	}
	if _, err := s.box.Replay(t.Context(), s.c, outbox.ReplayOptions{Queues: []string{"nowhere"}}); !errors.Is(err, outbox.ErrInvalid) {
		t.Errorf("of a queue that has nothing: %v", err)
	}
	if all, err := s.box.Replay(t.Context(), s.c, outbox.ReplayOptions{}); err != nil || len(all) != 0 {
		t.Errorf("where nothing is lost: %+v, %v", all, err)
	}
}
