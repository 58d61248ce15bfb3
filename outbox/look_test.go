package outbox_test

import (
	"errors"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

func TestOutbox_Look(t *testing.T) {
	t.Parallel()
	look := func(s *stand) outbox.Seen {
		s.t.Helper()
		all, err := s.box.Look(s.t.Context(), s.c)
		if err != nil || len(all) != 1 || all[0].Queue != "q" {
			s.t.Fatalf("%+v, %v", all, err)
		}
		return all[0]
	}
	t.Run("a wiped redis is seen before a relay notices it", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		s := newStandOn(t, sqltest.SQLite(t), outbox.Options{}, server.Client(), "wb")
		s.enter(requests(3)...)
		stop := s.relay()
		until(t, "all rows are sent", func() bool { return s.rows().Sent == 3 })
		stop()
		if got := look(s); got.Lost != "" || got.Unread != 0 {
			t.Errorf("lost before it is: %+v", got)
		}
		if err := s.rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if got := look(s); got.Lost != "it had taken 3 jobs from this outbox and knows of 0" {
			t.Errorf("%+v", got)
		}
		if !s.rows().LostAt.IsZero() {
			t.Error("a look wrote")
		}
		if _, err := s.box.Replay(t.Context(), s.c, outbox.ReplayOptions{Queues: []string{"q"}}); err != nil {
			t.Fatal(err)
		}
		if got := look(s); got.Lost != "" {
			t.Errorf("lost after a replay: %+v", got)
		}
	})
	t.Run("a redis that is away is told, and so are tables that are not there", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		s := newStandOn(t, sqltest.SQLite(t), outbox.Options{}, server.Client(), "wb")
		if all, err := s.box.Look(t.Context(), s.c); err != nil || len(all) != 0 {
			t.Errorf("%+v, %v without any queue", all, err)
		}
		s.enter(request("a"))
		stop := s.relay()
		until(t, "the row is sent", func() bool { return s.rows().Sent == 1 })
		stop()
		server.Kill()
		if _, err := s.box.Look(t.Context(), s.c); !errors.Is(err, waybill.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		other, err := outbox.New(s.db, s.d.Dialect, outbox.Options{Tables: "other_"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Look(t.Context(), s.c); !errors.Is(err, outbox.ErrNoTable) {
			t.Errorf("%v", err)
		}
	})
}
