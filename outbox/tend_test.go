package outbox_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

func TestOutbox_Purge(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{Keep: time.Hour})
		s.enter(requests(12)...)
		set := func(text string) {
			t.Helper()
			if _, err := s.db.ExecContext(t.Context(), "UPDATE waybill_outbox SET "+text); err != nil {
				t.Fatal(err)
			}
		}
		old := fmt.Sprint(time.Now().Add(-2 * time.Hour).UnixMilli())
		young := fmt.Sprint(time.Now().Add(-time.Minute).UnixMilli())
		set("state = 2, ended_ms = " + old + " WHERE id IN ('job-1', 'job-2', 'job-3')")
		set("state = 4, ended_ms = " + old + " WHERE id = 'job-4'")
		set("state = 3, ended_ms = " + old + " WHERE id = 'job-5'")
		set("state = 2, ended_ms = " + young + " WHERE id = 'job-6'")
		set("state = 1 WHERE id IN ('job-7', 'job-8', 'job-9')")
		n, err := s.box.CountPurge(t.Context(), 0)
		if err != nil || n != 4 {
			t.Errorf("counted %d, %v", n, err)
		}
		var steps []int64
		n, err = s.box.Purge(t.Context(), 0, func(n int64) { steps = append(steps, n) })
		if err != nil || n != 4 || len(steps) == 0 || steps[len(steps)-1] != 4 {
			t.Errorf("purged %d, %v, told %v", n, err, steps)
		}
		if r := s.rows(); r.New != 3 || r.Sent != 3 || r.Dead != 1 || r.Ended != 1 {
			t.Errorf("left are %+v", r)
		}
		if _, err := s.box.Purge(t.Context(), time.Millisecond, nil); !errors.Is(err, outbox.ErrInvalid) || !strings.Contains(err.Error(), "age") {
			t.Errorf("an age of a millisecond: %v", err)
		}
		set("ended_ms = " + old + " WHERE id = 'job-6'")
		s.relay()
		until(t, "the relay purges", func() bool { return s.told(outbox.EventPurged) == 1 && s.rows().Ended == 0 })
	})
}

func TestOutbox_Lag(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		s.enter(request("a"), request("b"))
		all, err := s.box.Lag(t.Context())
		if err != nil || len(all) != 1 || all[0].Queue != "q" || all[0].New != 2 {
			t.Fatalf("%+v, %v", all, err)
		}
		if age := time.Since(all[0].Oldest); age < -time.Second || age > time.Minute {
			t.Errorf("the oldest is %s old", age)
		}
		s.relay()
		until(t, "lag and sending are told", func() bool { return s.told(outbox.EventLag) > 0 && s.told(outbox.EventSent) > 0 })
		if all, err = s.box.Lag(t.Context()); err != nil || len(all) != 1 || all[0].New != 0 || !all[0].Oldest.IsZero() {
			t.Errorf("when all are sent: %+v, %v", all, err)
		}
		s.work(func(context.Context, *waybill.Attempt) error { return nil })
		until(t, "ends are told, and when it was read", func() bool { return s.told(outbox.EventEnded) > 0 && !s.rows().ReadAt.IsZero() })
	})
}

// noisy is a log that a test reads.
type noisy struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (n *noisy) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.Write(p)
}

func (n *noisy) has(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(n.b.String(), text)
}

func TestRelay_observerPanics(t *testing.T) {
	t.Parallel()
	s := newStand(t, sqltest.SQLite(t), outbox.Options{})
	var log noisy
	box, err := outbox.New(s.db, outbox.SQLite, outbox.Options{
		Poll: 5 * time.Millisecond, Observe: func(outbox.Event) { panic("bang") }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.box = box
	s.enter(request("a"))
	s.relay()
	until(t, "the row is sent, and the panic is logged", func() bool { return s.rows().Sent == 1 && log.has("bang") })
	s.enter(request("b"))
	until(t, "the relay goes on", func() bool { return s.rows().Sent == 2 })
}

func TestOutbox_New(t *testing.T) {
	t.Parallel()
	db := sqltest.SQLite(t).Open(t)
	for name, c := range map[string]struct {
		db    *sql.DB
		d     outbox.Dialect
		o     outbox.Options
		field string
	}{
		"no database":         {nil, outbox.SQLite, outbox.Options{}, "db"},
		"another dialect":     {db, "oracle", outbox.Options{}, "dialect"},
		"a bad table name":    {db, outbox.SQLite, outbox.Options{Tables: "a b"}, "tables"},
		"a schema on SQLite":  {db, outbox.SQLite, outbox.Options{Tables: "a.b"}, "tables"},
		"a payload too large": {db, outbox.SQLite, outbox.Options{MaxPayload: 8<<20 + 1}, "max payload"},
		"polling too often":   {db, outbox.SQLite, outbox.Options{Poll: time.Millisecond}, "poll"},
		"reading too seldom":  {db, outbox.SQLite, outbox.Options{Read: time.Hour}, "read"},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			t.Parallel()
			if _, err := outbox.New(c.db, c.d, c.o); !errors.Is(err, outbox.ErrInvalid) || !strings.Contains(err.Error(), c.field) {
				t.Error(err)
			}
		})
	}
}
